package httpapi_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
)

// oneConn is a listener with a single connection, on the bubble's fake clock.
type oneConn struct {
	conns chan net.Conn
	ended chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error   { close(l.ended); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// Reliability IN-4: connections with an incomplete header and idle connections are closed. A
// running handler is not interrupted, because streams last.
func TestTimeLimitsOfAConnection(t *testing.T) {
	t.Parallel()
	const request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	for _, c := range []struct {
		name  string
		write string
		cut   time.Duration
	}{
		{"half a header is cut after 5 s", request + "X-Slow: ", 5 * time.Second},
		{"nothing at all is cut after 5 s", "", 5 * time.Second},
		{"an answered connection is kept for 2 min", request + "\r\n", 2 * time.Minute},
		{"an answer that takes an hour is given", request + "X-Take: 1h\r\n\r\n", time.Hour + 2*time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, _ := newEcho()
				e.GET("/", func(c echo.Context) error {
					if take, err := time.ParseDuration(c.Request().Header.Get("X-Take")); err == nil {
						time.Sleep(take)
					}
					return c.NoContent(http.StatusOK)
				})
				listener := &oneConn{conns: make(chan net.Conn), ended: make(chan struct{})}
				server, served := httpapi.Server(e, httpapi.ServerOptions{}), make(chan error, 1)
				go func() { served <- server.Serve(listener) }()
				client, peer := net.Pipe()
				began := time.Now()
				listener.conns <- peer
				go func() { _, _ = io.WriteString(client, c.write) }()
				_, _ = io.Copy(io.Discard, client)
				if cut := time.Since(began); cut != c.cut {
					t.Errorf("cut after %s, not %s", cut, c.cut)
				}
				_ = client.Close()
				if err := server.Close(); err != nil {
					t.Error(err)
				}
				if err := <-served; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		})
	}
}
