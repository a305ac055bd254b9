package egress

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// onceListener returns one connection, and then nothing until it is closed.
type onceListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *onceListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *onceListener) Close() error   { close(l.closed); return nil }
func (l *onceListener) Addr() net.Addr { return &net.UnixAddr{Name: "fuzz"} }

// bytesConn is a connection that sends fixed bytes and keeps what it gets.
type bytesConn struct {
	io.Reader
	got  bytes.Buffer
	done chan struct{}
}

func (c *bytesConn) Write(p []byte) (int, error)      { return c.got.Write(p) }
func (c *bytesConn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (c *bytesConn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (c *bytesConn) SetDeadline(time.Time) error      { return nil }
func (c *bytesConn) SetReadDeadline(time.Time) error  { return nil }
func (c *bytesConn) SetWriteDeadline(time.Time) error { return nil }

func (c *bytesConn) Close() error {
	select {
	case <-c.done:
	default:
		close(c.done)
	}
	return nil
}

// Whatever a program sends, no request of it is allowed where nothing is listed.
func FuzzServe(f *testing.F) {
	for _, request := range []string{
		"client\nCONNECT example.org:443 HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"client\nGET http://127.0.0.1:1/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"client\nGET http://[::ffff:169.254.169.254]/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"client\nPOST http://0x7f.1/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
		"client\nGET /route/../.. HTTP/1.1\r\nHost: x\r\n\r\n",
		"client\nGET https://example.org/ HTTP/1.1\r\nHost: x\r\n\r\nGET http://a/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"other\nCONNECT :0 HTTP/1.1\r\n\r\n", "\n\n", "no line",
	} {
		f.Add([]byte(request))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		listener := &onceListener{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
		s := New(Options{Client: func(line string) (Client, error) {
			if line != "client" {
				return Client{}, errors.New("unknown")
			}
			return Client{Name: "fuzz"}, nil
		}})
		conn := &bytesConn{Reader: bytes.NewReader(sent), done: make(chan struct{})}
		listener.conns <- conn
		served := make(chan error, 1)
		go func() { served <- s.Serve(listener) }()
		<-conn.done
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if bytes.HasPrefix(conn.got.Bytes(), []byte("HTTP/1.1 2")) {
			t.Errorf("%q was allowed: %q", sent, conn.got.String())
		}
	})
}

// Rules that are accepted name a port, and list no address that their text does not.
func FuzzParseRules(f *testing.F) {
	for _, entry := range []string{
		"example.org", "*.example.org:8443", "10.0.0.0/8", "127.0.0.1:5432", "localhost:5432", "[::1]:80", "*", "*.", ":80",
		"example.org:99999", "10.1/8", "0x7f.1", "127.1", "EXAMPLE.org.", "a b", "ex\u00e4mple.org",
	} {
		f.Add(entry)
	}
	loopback := netip.MustParseAddrPort("127.0.0.1:22")
	f.Fuzz(func(t *testing.T, entry string) {
		rules, err := ParseRules([]string{entry})
		if err != nil {
			return
		}
		if rules.listsAddress(loopback) && !strings.ContainsAny(entry, "/1lL") {
			t.Errorf("%q lists %v", entry, loopback)
		}
		names := strings.ToLower(entry)
		if rules.check("", 80) == nil || rules.check("a.invalid", 80) == nil && !strings.Contains(names, "invalid") {
			t.Errorf("%q allows a name that it does not list", entry)
		}
	})
}
