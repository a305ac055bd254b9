package faultproxy_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/testenv/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo greets every connection and returns the bytes it gets.
func echo(t *testing.T, network, addr, greeting string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = c.Close() }()
				_, _ = io.WriteString(c, greeting)
				_, _ = io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l
}

func proxy(t *testing.T, target string) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func connect(t *testing.T, p *faultproxy.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("received %q, %v; want %q", got[:n], err, want)
	}
}

// dialAndRead returns the first error: the RST may arrive before the dial returns.
func dialAndRead(p *faultproxy.Proxy) error {
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return errors.Join(err, c.Close())
}

// silent reports whether nothing arrives for a moment. A late byte can only hide a fault of the
// proxy, never fail a correct one.
func silent(t *testing.T, c net.Conn) bool {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestPassForwardsBothWaysAndHalfCloses(t *testing.T) {
	t.Parallel()
	p := proxy(t, echo(t, "tcp", "127.0.0.1:0", "").Addr().String())
	c := connect(t, p)
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		_, _ = c.Write(big)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, big) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
}

func TestATargetMayBeAUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	echo(t, "unix", path, "")
	c := connect(t, proxy(t, path))
	send(t, c, "hello")
	receive(t, c, "hello")
}

func TestRetargetSendsNewConnectionsElsewhere(t *testing.T) {
	t.Parallel()
	p := proxy(t, echo(t, "tcp", "127.0.0.1:0", "a").Addr().String())
	first := connect(t, p)
	receive(t, first, "a")
	p.Retarget(echo(t, "tcp", "127.0.0.1:0", "b").Addr().String())
	receive(t, connect(t, p), "b")
	send(t, first, "still here")
	receive(t, first, "still here")
}

func TestABlackHoleHoldsBytesUntilItEnds(t *testing.T) {
	t.Parallel()
	p := proxy(t, echo(t, "tcp", "127.0.0.1:0", "").Addr().String())
	open := connect(t, p)
	send(t, open, "x")
	receive(t, open, "x")
	p.Set(faultproxy.BlackHole())
	fresh := connect(t, p)
	for _, c := range []net.Conn{open, fresh} {
		send(t, c, "held")
		if !silent(t, c) {
			t.Fatal("an answer came through")
		}
	}
	p.Set(faultproxy.Pass())
	receive(t, open, "held")
	receive(t, fresh, "held")
}

func TestACutForwardsExactlyNBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		mode     faultproxy.Mode
		greeting string
		send     string
		want     string
	}{
		{"of either direction, here the request", faultproxy.CutAfter(3), "", "abcdef", ""},
		{"of either direction, here the answer", faultproxy.CutAfter(3), "greeting", "", "gre"},
		{"of the answer only", faultproxy.CutAnswerAfter(4), "", "abcdef", "abcd"},
		{"at zero, nothing", faultproxy.CutAnswerAfter(0), "greeting", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := proxy(t, echo(t, "tcp", "127.0.0.1:0", c.greeting).Addr().String())
			p.Set(c.mode)
			conn := connect(t, p)
			send(t, conn, c.send)
			got, err := io.ReadAll(conn)
			// Echoed bytes may arrive before or after the cut of the request.
			if c.want != "" && (string(got) != c.want || err != nil) {
				t.Errorf("received %q, %v; want %q and a FIN", got, err, c.want)
			}
			if len(got) > 4 {
				t.Errorf("received %q", got)
			}
		})
	}
}

func TestResetEndsOpenAndNewConnections(t *testing.T) {
	t.Parallel()
	p := proxy(t, echo(t, "tcp", "127.0.0.1:0", "").Addr().String())
	open := connect(t, p)
	send(t, open, "x")
	receive(t, open, "x")
	p.Set(faultproxy.Reset())
	if _, err := open.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("open connection: %v", err)
	}
	if err := dialAndRead(p); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("new connection: %v", err)
	}
	p.Set(faultproxy.Pass())
	again := connect(t, p)
	send(t, again, "y")
	receive(t, again, "y")
}

func TestRefuseKeepsThePortForLater(t *testing.T) {
	t.Parallel()
	p := proxy(t, echo(t, "tcp", "127.0.0.1:0", "").Addr().String())
	for range 3 {
		p.Set(faultproxy.Refuse())
		if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("while refusing: %v", err)
		}
		p.Set(faultproxy.Pass())
		c := connect(t, p)
		send(t, c, "z")
		receive(t, c, "z")
	}
}

func TestLatencyAndTrickleDeliverEverything(t *testing.T) {
	t.Parallel()
	p := proxy(t, echo(t, "tcp", "127.0.0.1:0", "").Addr().String())
	p.Set(faultproxy.Latency(5 * time.Millisecond))
	c := connect(t, p)
	send(t, c, "late")
	receive(t, c, "late")
	p.Set(faultproxy.Trickle())
	send(t, c, "slow")
	if !silent(t, c) {
		t.Error("the first byte takes a second")
	}
	p.Set(faultproxy.Pass())
	receive(t, c, "slow")
}

func TestAnUnreachableTargetResets(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := l.Addr().String()
	_ = l.Close()
	if err := dialAndRead(proxy(t, target)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
}
