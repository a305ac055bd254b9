package opencode

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// following runs a stream with a server until the stream has paused n times.
func following(t *testing.T, handler http.HandlerFunc, n int) (pauses []time.Duration, links []link) {
	t.Helper()
	web := httptest.NewServer(handler)
	defer web.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := newStream(newClient(web.URL, "password"))
	defer s.client.http.CloseIdleConnections()
	s.opened = func() {}
	s.report = func(error, time.Duration) {}
	s.deliver = func(in incoming) {
		if in.link != 0 {
			links = append(links, in.link)
		}
	}
	s.pause = func(_ context.Context, d time.Duration) {
		if pauses = append(pauses, d); len(pauses) == n {
			cancel()
		}
	}
	s.run(ctx)
	return pauses, links
}

const connected = "data: {\"type\":\"server.connected\",\"properties\":{}}\n\n"

func events(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, connected)
}

func TestALostStreamIsRetriedAfterOneTwoFourUpToThirtySeconds(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	pauses, links := following(t, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			events(w)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}, 7)
	want := []time.Duration{1e9, 2e9, 4e9, 8e9, 16e9, 30e9, 30e9}
	if !slices.Equal(pauses, want) || !slices.Equal(links, []link{linkLost}) {
		t.Errorf("paused %v, links %v", pauses, links)
	}
}

func TestAStreamThatEndsIsReportedAndRetriedFromTheFirstDelay(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	pauses, links := following(t, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 2 {
			_, _ = io.WriteString(w, "<!doctype html>") // a page instead of a stream
			return
		}
		events(w)
	}, 3)
	if !slices.Equal(pauses, []time.Duration{1e9, 2e9, 1e9}) ||
		!slices.Equal(links, []link{linkLost, linkBack, linkLost}) {
		t.Errorf("paused %v, links %v", pauses, links)
	}
}

func TestASilentStreamIsReconnected(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		events(w)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer web.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := newStream(newClient(web.URL, "password"))
	defer s.client.http.CloseIdleConnections()
	silent := make(chan func(), 1)
	s.watch = func(cancel func()) (received, end func()) {
		silent <- cancel
		return func() {}, func() {}
	}
	s.opened = func() { (<-silent)() }
	s.deliver = func(incoming) {}
	s.pause = func(context.Context, time.Duration) { cancel() }
	var why error
	s.report = func(err error, _ time.Duration) { why = err }
	s.run(ctx)
	if why == nil {
		t.Error("the silent stream was kept")
	}
}
