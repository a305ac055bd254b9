package httpapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"bellhop/protocol"
)

const (
	reserveAccept = 100 * time.Millisecond // longest wait for a connection with the reserve given up
	reserveServe  = time.Second            // longest time for one such connection
	exhaustedLog  = time.Minute            // between two log lines
)

var errNoDescriptors = &protocol.Error{
	Code: protocol.CodeUnavailable, Message: "The server has no file descriptors left", RetryAfter: 5,
	Hint: "Raise the limit of open files (ulimit -n, LimitNOFILE), or close connections",
}

// ReserveDescriptor returns a listener that keeps one file descriptor in reserve.
// When the process has none left, the listener gives it up for one connection at a
// time: /healthz is answered 200 and all else 503. One line with the limit is
// logged. Without the reserve no connection could be accepted, and a supervisor
// could not distinguish a full process from a dead one.
func ReserveDescriptor(listener net.Listener, log *slog.Logger) net.Listener {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	l := &reserveListener{Listener: listener, log: log}
	l.take()
	return l
}

type reserveListener struct {
	net.Listener

	log *slog.Logger

	mu     sync.Mutex // Accept and Close
	spare  *os.File   // nil while it is given up, or when there was none to take
	closed bool
	logged time.Time
}

// take takes the reserve, if there is a descriptor for it.
func (l *reserveListener) take() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spare == nil && !l.closed {
		l.spare, _ = os.Open(os.DevNull) // the next Accept tries again
	}
}

// give gives the reserve up. It returns false if there is none.
func (l *reserveListener) give() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spare == nil {
		return false
	}
	_ = l.spare.Close()
	l.spare = nil
	return true
}

// Close closes the listener and its reserve.
func (l *reserveListener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.give()
	return l.Listener.Close()
}

// Accept returns connections for which there are descriptors, and serves the others
// itself. After an error of a process without descriptors net/http pauses and calls
// Accept again.
func (l *reserveListener) Accept() (net.Conn, error) {
	for {
		l.take()
		conn, err := l.Listener.Accept()
		if !isExhausted(err) {
			return conn, err
		}
		l.logExhausted()
		if !l.serveOne() {
			return nil, err
		}
	}
}

func isExhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func (l *reserveListener) logExhausted() {
	if now := time.Now(); now.Sub(l.logged) >= exhaustedLog {
		l.logged = now
		l.log.Error("no file descriptors left: only health checks are answered", "limit", descriptorLimit(),
			"address", l.Addr().String())
	}
}

// serveOne serves one connection with the reserve's descriptor. It returns false if
// it got none.
func (l *reserveListener) serveOne() bool {
	timed, ok := l.Listener.(interface{ SetDeadline(t time.Time) error })
	if !ok || !l.give() {
		return false
	}
	defer l.take()
	if err := timed.SetDeadline(time.Now().Add(reserveAccept)); err != nil {
		return false
	}
	conn, err := l.Listener.Accept()
	if reset := timed.SetDeadline(time.Time{}); reset != nil || err != nil {
		return false
	}
	serveWithoutDescriptors(conn)
	return true
}

// serveWithoutDescriptors answers one request and closes the connection.
func serveWithoutDescriptors(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(reserveServe))
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	status, body := http.StatusOK, any(protocol.Readiness{Status: "ok"})
	if !strings.HasSuffix(request.URL.Path, "/healthz") {
		status = StatusOf(errNoDescriptors.Code)
		body = protocol.ErrorBody{Error: errNoDescriptors.Message, Code: errNoDescriptors.Code, Hint: errNoDescriptors.Hint}
	}
	content, err := json.Marshal(body)
	if err != nil {
		return
	}
	response := &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(content)),
		Body: io.NopCloser(bytes.NewReader(content)),
	}
	if status != http.StatusOK {
		response.Header.Set("Retry-After", "5")
	}
	if response.Write(conn) != nil {
		return
	}
	// A connection that is closed with bytes unread is reset, and the client might
	// not see the answer.
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, conn)
	}
}
