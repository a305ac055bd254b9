package feed_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"bellhop/broker/feed"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

var discard = slog.New(slog.DiscardHandler)

func always(context.Context) bool { return true }

// server serves f as an API does: an error before the first byte becomes an error
// response.
func server(t *testing.T, f *feed.Feed, allowed func(context.Context) bool) *httptest.Server {
	t.Helper()
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		http.Error(c.Response(), string(protocol.CodeOf(err)), http.StatusTeapot)
	}
	e.GET("/api/tasks/:id/events", func(c echo.Context) error {
		return f.ServeTask(c.Response(), c.Request(), user, c.Param("id"), allowed)
	})
	e.GET("/api/events", func(c echo.Context) error {
		return f.ServeUser(c.Response(), c.Request(), user, allowed)
	})
	ts := httptest.NewServer(e)
	t.Cleanup(ts.Close)
	return ts
}

// reader is a connected client.
type reader struct {
	t      *testing.T
	header http.Header
	body   io.ReadCloser
	frames *sse.Reader
}

func connect(t *testing.T, url, lastID string) *reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	return &reader{t: t, header: resp.Header, body: resp.Body, frames: sse.NewReader(resp.Body)}
}

func (r *reader) next() sse.Frame {
	r.t.Helper()
	frame, err := r.frames.Next()
	if err != nil {
		r.t.Fatal(err)
	}
	return frame
}

func (r *reader) want(frames ...string) {
	r.t.Helper()
	for _, want := range frames {
		f := r.next()
		if got := f.ID + " " + f.Event + " " + string(f.Data); got != want {
			r.t.Fatalf("frame\n got %s\nwant %s", got, want)
		}
	}
}

func (r *reader) wantEnd() {
	r.t.Helper()
	if frame, err := r.frames.Next(); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		r.t.Fatalf("got frame %+v, error %v; want the end", frame, err)
	}
}

// runFeed runs f until the test's end, or until the returned function is called.
func runFeed(t *testing.T, f *feed.Feed) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}
