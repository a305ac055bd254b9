package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/internal/testenv/lies"
	"bellhop/protocol"
)

var anyCall = map[string]func(context.Context, *client.Client) (any, error){
	"Me":     func(ctx context.Context, c *client.Client) (any, error) { return c.Me(ctx) },
	"Task":   func(ctx context.Context, c *client.Client) (any, error) { return c.Task(ctx, "t1") },
	"Attach": func(ctx context.Context, c *client.Client) (any, error) { return c.Attach(ctx, "t1") },
	"CheckIn": func(ctx context.Context, c *client.Client) (any, error) {
		return c.CheckIn(ctx, &protocol.CheckInRequest{TaskID: "t1", Message: "hi"})
	},
	"Diff":      func(ctx context.Context, c *client.Client) (any, error) { return c.Diff(ctx, "t1") },
	"Interrupt": func(ctx context.Context, c *client.Client) (any, error) { return c.Interrupt(ctx, "t1") },
	"Restart":   func(ctx context.Context, c *client.Client) (any, error) { return c.Restart(ctx, "t1") },
	"Export": func(ctx context.Context, c *client.Client) (any, error) {
		return nil, c.Export(ctx, "t1", true, io.Discard)
	},
}

// peer is a broker and a host that name their answers. The stream of a task has one turn.
func peer(url *string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(protocol.HeaderRequest, r.Header.Get(protocol.HeaderRequest))
		if strings.HasPrefix(r.URL.Path, "/stream/") {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, frame := range []string{start, hello, lo, end, finish} {
				id, data, _ := strings.Cut(frame, " ")
				_, _ = fmt.Fprintf(w, "id: %s\nevent: message\ndata: %s\n\n", id, data)
			}
			return
		}
		w.Header().Set(protocol.HeaderBroker, "b1")
		_, _ = fmt.Fprintf(w, `{"success":true,"sessionId":"t1","id":"t1","turnId":"turn","streamToken":"of %s","streamUrl":"%s/stream/t1",
			"capabilities":["events","resume","named-answers"]}`, r.URL.Path, *url)
	}
}

// lyingServer serves broker and host behind a gateway that tells a lie while there is one.
func lyingServer(t *testing.T, lie func(*http.Request) *lies.Lie) (string, *lies.Gateway) {
	t.Helper()
	var url string
	gateway := &lies.Gateway{Next: peer(&url), Lies: lie}
	server := httptest.NewServer(gateway)
	t.Cleanup(server.Close)
	url = server.URL
	return url, gateway
}

func TestNoAnswerOfSomethingElseIsTheBrokers(t *testing.T) {
	t.Parallel()
	all := lies.All()
	for name, call := range anyCall {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lie atomic.Pointer[lies.Lie]
			url, gateway := lyingServer(t, func(*http.Request) *lies.Lie { return lie.Load() })
			c := client.New(url, client.Options{Token: "bh_x"})
			t.Cleanup(c.CloseIdleConnections)
			if _, err := call(t.Context(), c); err != nil {
				t.Fatalf("the broker's own answer: %v", err)
			}
			for _, other := range []string{"Task", "Attach"} { // to be swapped
				if _, err := anyCall[other](t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			for i := range all {
				lie.Store(&all[i])
				got, err := call(t.Context(), c)
				if got != nil && !reflect.ValueOf(got).IsZero() {
					t.Errorf("%s: got %+v", all[i].Name, got)
				}
				if protocol.CodeOf(err) != protocol.CodeUnavailable || client.StatusOf(err) != 0 ||
					!client.IsForeign(err) && all[i].How != "close" {
					t.Errorf("%s: %v", all[i].Name, err)
				}
			}
			if gateway.Told() != len(all) {
				t.Errorf("%d lies were told", gateway.Told())
			}
			lie.Store(nil)
			if _, err := call(t.Context(), c); err != nil {
				t.Errorf("after the lies: %v", err)
			}
		})
	}
}

// A turn goes on after what something else answers between the client and a host that names its answers.
func TestAStreamGoesOnAfterTheAnswerOfSomethingElse(t *testing.T) {
	t.Parallel()
	all := lies.All()
	var next atomic.Int64
	url, gateway := lyingServer(t, func(r *http.Request) *lies.Lie {
		at := next.Add(1) - 1
		if !strings.HasPrefix(r.URL.Path, "/stream/") || at%5 == 4 || int(at) >= len(all)*5 {
			return nil
		}
		return &all[int(at)%len(all)]
	})
	c := client.New(url, client.Options{Token: "bh_x", MinBackoff: time.Millisecond, MaxBackoff: 2 * time.Millisecond, Attempts: 50})
	t.Cleanup(c.CloseIdleConnections)
	for int(next.Load()) < len(all)*5 {
		stream, err := c.Send(t.Context(), &protocol.CheckInRequest{TaskID: "t1", Message: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		got, transcript, err := read(stream.Events(t.Context()))
		if err != nil || !strings.HasSuffix(got, completeTurn) || transcript.Text() != "hello" {
			t.Fatalf("%s, %q, %v", got, transcript.Text(), err)
		}
	}
	if gateway.Told() < len(all) {
		t.Errorf("%d lies were told", gateway.Told())
	}
}

// A broker that never named itself is believed by its status.
func TestABrokerWithoutANameIsBelieved(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":"No such task","code":"not_found"}`)
	}))
	t.Cleanup(server.Close)
	c := client.New(server.URL, client.Options{Token: "bh_x"})
	t.Cleanup(c.CloseIdleConnections)
	if _, err := c.Task(t.Context(), "t1"); protocol.CodeOf(err) != protocol.CodeNotFound || client.StatusOf(err) != 404 {
		t.Errorf("%v", err)
	}
}
