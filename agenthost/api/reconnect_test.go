package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	r3labs "github.com/r3labs/sse/v2"
	gosse "github.com/tmaxmax/go-sse"
)

// breakingProxy passes a host's answers on and breaks the connection after each event stream, so
// that its readers reconnect after the end. answers counts the others.
func breakingProxy(t *testing.T, target string, answers *atomic.Int64) *httptest.Server {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequestWithContext(r.Context(), r.Method, target+r.URL.String(), r.Body)
		req.Header = r.Header
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer func() { _ = resp.Body.Close() }()
		kind := resp.Header.Get("Content-Type")
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
		if strings.HasPrefix(kind, "text/event-stream") {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		answers.Add(1)
	}))
	t.Cleanup(proxy.Close)
	return proxy
}

// threeTimes makes a reader of r3labs/sse give up after three reconnections.
type threeTimes struct{ n int }

func (b *threeTimes) Reset() { b.n = 0 }

func (b *threeTimes) NextBackOff() time.Duration {
	if b.n++; b.n > 3 {
		return -1
	}
	return time.Millisecond
}

func TestReadersThatReconnectStopAfterTheEnd(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	first := h.prompt("s1", token, "text a\ntext b")
	first.readAll()
	var answers atomic.Int64
	url := breakingProxy(t, h.url, &answers).URL + "/stream/s1?token=" + token + "&after=" + first.ids[0]
	readers := map[string]func(ctx context.Context, event func(data string)) error{
		"r3labs/sse": func(ctx context.Context, event func(string)) error {
			client := r3labs.NewClient(url)
			client.ReconnectStrategy = &threeTimes{}
			return client.SubscribeRawWithContext(ctx, func(e *r3labs.Event) { event(string(e.Data)) })
		},
		"go-sse": func(ctx context.Context, event func(string)) error {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			connection := gosse.DefaultClient.NewConnection(req)
			connection.SubscribeToAll(func(e gosse.Event) { event(e.Data) })
			err := connection.Connect()
			var refused *gosse.ConnectionError
			if errors.As(err, &refused) && refused.Reason == "response validation failed" {
				return nil // its way to stop
			}
			return err
		},
	}
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			answers.Store(0)
			ctx, cancel := context.WithTimeout(t.Context(), guard)
			defer cancel()
			finishes := 0
			err := read(ctx, func(data string) { finishes += strings.Count(data, `"type":"finish"`) })
			if err != nil || finishes != 1 || answers.Load() != 1 {
				t.Errorf("%v, %d times finish, %d answers after the end", err, finishes, answers.Load())
			}
		})
	}
}

func TestTheAnswerAfterTheEnd(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	token := h.announce("s1", "t1")
	first := h.prompt("s1", token, "text a")
	first.readAll()
	end := first.ids[len(first.ids)-1]
	for name, c := range map[string]struct {
		method, query string
		header        []string
		status        int
		kind          string
	}{
		"like EventSource": {
			"GET", "", []string{"Accept: text/event-stream", "Last-Event-ID: " + end}, 200, "text/plain; charset=UTF-8",
		},
		"a POST like it": {
			"POST", "", []string{"Accept: text/event-stream", "Last-Event-ID: " + end}, 200, "text/plain; charset=UTF-8",
		},
		"?after=":              {"GET", "&after=" + end, []string{"Accept: text/event-stream"}, 204, ""},
		"any media type":       {"GET", "", []string{"Accept: */*", "Last-Event-ID: " + end}, 204, ""},
		"without a media type": {"GET", "", []string{"Last-Event-ID: " + end}, 204, ""},
		"without a cursor":     {"GET", "", []string{"Accept: text/event-stream"}, 204, ""},
		"JSON is accepted also": {
			"GET", "", []string{"Accept: text/event-stream, application/json", "Last-Event-ID: " + end}, 204, "",
		},
	} {
		body := ""
		if c.method == "POST" {
			body = `{"prompt":"x"}`
		}
		status, header, text := h.call(request{c.method, "/stream/s1?token=" + token + c.query, body, c.header})
		if status != c.status || header.Get("Content-Type") != c.kind || (text == "") != (status == 204) {
			t.Errorf("%s: %d %q %q", name, status, header.Get("Content-Type"), text)
		}
	}
}
