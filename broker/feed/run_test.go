package feed_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/broker/feed"
	"bellhop/internal/sse"
)

func newFrames(r io.Reader) *sse.Reader { return sse.NewReader(r) }

func TestChangesOfOtherReplicasArrive(t *testing.T) {
	t.Parallel()
	source := newMemory("t")
	f := feed.New(source, feed.Options{Log: discard, Poll: time.Millisecond})
	runFeed(t, f)
	ts := server(t, f, always)
	task, all := connect(t, ts.URL+"/api/tasks/t/events", ""), connect(t, ts.URL+"/api/events", "")
	task.want(`0 hello {"rev":0}`)
	all.next()

	source.change("t")
	task.want(message(1))
	all.want(`2 task {"taskId":"t","rev":1,"agentStatus":"busy","reason":"","openInteractions":0}`)

	source.set(func(m *memory) { m.away = true })
	source.change("t")
	f.Changed(user, "t", 2) // the following reads fail, and so do the polls
	source.set(func(m *memory) { m.away = false })
	task.want(message(2))
	all.want(`3 task {"taskId":"t","rev":2,"agentStatus":"busy","reason":"","openInteractions":0}`)

	source.set(func(m *memory) { m.tasks["t"].rev = 1 }) // the database was restored from an older copy
	task.want(`1 reset {"rev":1}`)
	source.change("t")
	task.want(message(2))
}

func TestStoppingSendsBye(t *testing.T) {
	t.Parallel()
	source := newMemory("t")
	source.change("t")
	f := feed.New(source, feed.Options{Log: discard})
	stop := runFeed(t, f)
	ts := server(t, f, always)
	task, all := connect(t, ts.URL+"/api/tasks/t/events", "0"), connect(t, ts.URL+"/api/events", "")
	task.want(`0 hello {"rev":1}`, message(1))
	all.next()
	stop()
	task.want(`1 bye {}`)
	task.wantEnd()
	all.want(`1 bye {}`)
	all.wantEnd()

	resp, err := http.Get(ts.URL + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, _ := io.ReadAll(resp.Body); string(body) != "unavailable\n" {
		t.Errorf("after the end: %s", body)
	}
}

func TestStoppingEndsEveryConnection(t *testing.T) {
	t.Parallel()
	f := feed.New(newMemory("t"), feed.Options{Log: discard})
	stop := runFeed(t, f)
	url := server(t, f, always).URL + "/api/tasks/t/events"
	var readers []*reader
	for range 200 {
		r := connect(t, url, "")
		r.want(`0 hello {"rev":0}`)
		readers = append(readers, r)
	}
	stop()
	for _, r := range readers {
		r.want(`0 bye {}`)
		r.wantEnd()
	}
	if n := f.Connections(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

func TestFeedEndsWhenAccessDoes(t *testing.T) {
	t.Parallel()
	var allowed atomic.Bool
	allowed.Store(true)
	f := feed.New(newMemory("t"), feed.Options{Log: discard, Access: time.Millisecond})
	r := connect(t, server(t, f, func(context.Context) bool { return allowed.Load() }).URL+"/api/tasks/t/events", "")
	r.want(`0 hello {"rev":0}`)
	allowed.Store(false)
	r.wantEnd()
}

// recorder is a response that can be read while it is written.
type recorder struct {
	mu   sync.Mutex
	body bytes.Buffer
}

func (r *recorder) Header() http.Header { return http.Header{} }
func (r *recorder) WriteHeader(int)     {}
func (r *recorder) Flush()              {}
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.body.Write(p)
}

func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.body.Reset()
	return r.body.String()
}

func TestAQuietFeedPingsAndChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var allowed atomic.Bool
		allowed.Store(true)
		f := feed.New(newMemory("t"), feed.Options{Log: discard})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w, done := &recorder{}, make(chan error, 1)
		go func() {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/tasks/t/events", nil)
			done <- f.ServeTask(w, r, user, "t", func(context.Context) bool { return allowed.Load() })
		}()
		step := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := w.take(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		step(0, "id: 0\ndata: {\"rev\":0}\nevent: hello\n\n")
		step(9*time.Second, "")
		step(2*time.Second, ": ping\n\n")
		step(10*time.Second, ": ping\n\n")
		allowed.Store(false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the feed lives 5 s after its access ended")
		}
	})
}
