package httpapi_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/internal/sse"
)

// detachedStream answers GET /stream/:id on a taken connection with what write writes.
func detachedStream(e *echo.Echo, streams *httpapi.Streams, write func(*sse.Writer)) {
	e.GET("/stream/:id", func(c echo.Context) error {
		w := sse.TakeWriter(c.Response(), c.Request(), sse.WriterOptions{WriteTimeout: time.Hour})
		streams.Detach(c, &httpapi.Stream{
			Write: func() int64 { write(w); return w.Written() },
			End:   w.Close, Abort: w.Abort,
		})
		return nil
	})
}

func TestARequestEndsInLogAndMetricsWithItsStream(t *testing.T) {
	t.Parallel()
	seen, out, streams := &requests{}, new(logged), &httpapi.Streams{}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	e := httpapi.New(httpapi.Options{Observer: seen, Log: log})
	handled := make(chan struct{})
	detachedStream(e, streams, func(w *sse.Writer) {
		<-handled
		if err := w.Write([]byte("data: x\n\n")); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.ServeHTTP(w, r)
		if text := out.String(); len(seen.all()) != 0 || text != "" {
			t.Errorf("a stream that is open was logged as %q, observed as %q", text, seen.all())
		}
		close(handled)
	}))
	defer server.Close()
	resp, err := server.Client().Get(server.URL + "/stream/s1?token=secret")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "data: x\n\n" || resp.Header.Get("X-Request-Id") == "" {
		t.Errorf("%q, %v, %v", body, err, resp.Header)
	}
	_ = resp.Body.Close()
	// The end of the response comes after the log, as it does for a handler.
	if !slices.Equal(seen.all(), []string{"GET /stream/:id 200 ok"}) {
		t.Errorf("observed %q", seen.all())
	}
	text := out.String()
	for _, part := range []string{
		"msg=request", "path=/stream/s1", "route=/stream/:id", "status=200", "bytes=9", "peer=127.0.0.1",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is missing in %s", part, text)
		}
	}
	streams.Shutdown(t.Context())
}

func TestAPanicOfAStreamCutsOnlyItsConnection(t *testing.T) {
	t.Parallel()
	seen, out, streams := &requests{}, new(logged), &httpapi.Streams{}
	e := httpapi.New(httpapi.Options{Observer: seen, Log: slog.New(slog.NewTextHandler(out, nil))})
	detachedStream(e, streams, func(w *sse.Writer) {
		_ = w.Write([]byte("data: x\n\n"))
		panic("bug")
	})
	server := httptest.NewServer(e)
	defer server.Close()
	resp, err := server.Client().Get(server.URL + "/stream/s1")
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the stream looks complete: %q", body)
	}
	_ = resp.Body.Close()
	streams.Shutdown(t.Context())
	if !slices.Equal(seen.all(), []string{"GET /stream/:id 200 internal"}) ||
		!strings.Contains(out.String(), "panic: bug") {
		t.Errorf("observed %q, logged %s", seen.all(), out)
	}
}

func TestShutdownWaitsForStreamsAndAbortsThemWhenItsTimeIsUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		end, limit time.Duration // of the stream, of Shutdown
		want       time.Duration
		aborted    bool
	}{
		{"no stream", 0, time.Minute, 0, false},
		{"a stream that ends", 3 * time.Second, time.Minute, 3 * time.Second, false},
		{"a stream that does not", time.Hour, time.Minute, time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				streams, e := &httpapi.Streams{}, httpapi.New(httpapi.Options{})
				abort, ended, aborted := make(chan struct{}), false, false
				e.GET("/", func(c2 echo.Context) error {
					streams.Detach(c2, &httpapi.Stream{
						Write: func() int64 {
							select {
							case <-time.After(c.end):
							case <-abort:
							}
							return 0
						},
						End:   func() { ended = true },
						Abort: func() { aborted = true; close(abort) },
					})
					return nil
				})
				if c.end > 0 {
					call(e, http.MethodGet, "/", "")
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				began := time.Now()
				streams.Shutdown(ctx)
				if took := time.Since(began); took != c.want || aborted != c.aborted || ended != (c.end > 0) {
					t.Errorf("after %s: aborted %v, ended %v", took, aborted, ended)
				}
			})
		})
	}
}
