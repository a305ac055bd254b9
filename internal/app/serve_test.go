package app

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
)

// silent is a listener without connections.
type silent struct{ ended chan struct{} }

func (s silent) Accept() (net.Conn, error) { <-s.ended; return nil, net.ErrClosed }
func (s silent) Close() error              { close(s.ended); return nil }
func (s silent) Addr() net.Addr            { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func TestAServerEndsAfterTheStreamsThatItsHandlersLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{listener: silent{make(chan struct{})}, http: &http.Server{}}
		last, ignore := make(chan struct{}), func() {}
		e := httpapi.New(httpapi.Options{})
		e.GET("/", func(c echo.Context) error {
			s.streams.Detach(c, &httpapi.Stream{Write: func() int64 { <-last; return 0 }, End: ignore, Abort: ignore})
			return nil
		})
		e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.serve(ctx) }()
		synctest.Wait()
		stop()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Errorf("the server ended before its stream: %v", err)
		default:
		}
		close(last)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
