package feed_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/broker/feed"
)

func message(rev int64) string {
	return fmt.Sprintf(`%d message {"id":"m%d","seq":0,"rev":%d,"taskId":"t","turnId":"","role":"","status":"","message":"","artifacts":null,"eventId":"","createdAt":"0001-01-01T00:00:00Z"}`, rev, rev, rev)
}

func TestTaskFeedResumes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, query, lastID string
		pruned              int64
		want                []string
	}{
		{name: "without an id it starts live", want: []string{`3 hello {"rev":3}`}},
		{name: "after the last event id", lastID: "1", want: []string{`1 hello {"rev":3}`, message(2), message(3)}},
		{name: "after the since parameter", query: "?since=2", want: []string{`2 hello {"rev":3}`, message(3)}},
		{
			name: "the header wins over the parameter: an EventSource reconnects with both", query: "?since=0",
			lastID: "2", want: []string{`2 hello {"rev":3}`, message(3)},
		},
		{name: "from the beginning", lastID: "0", want: []string{`0 hello {"rev":3}`, message(1), message(2), message(3)}},
		{name: "up to date", lastID: "3", want: []string{`3 hello {"rev":3}`}},
		{name: "a future id resets", lastID: "4", want: []string{`4 hello {"rev":3}`, `3 reset {"rev":3}`}},
		{name: "a pruned id resets", lastID: "1", pruned: 2, want: []string{`1 hello {"rev":3}`, `3 reset {"rev":3}`}},
		{name: "text resets", lastID: "abc", want: []string{`-1 hello {"rev":3}`, `3 reset {"rev":3}`}},
		{name: "-1 resets", lastID: "-1", want: []string{`-1 hello {"rev":3}`, `3 reset {"rev":3}`}},
		{name: "2^64 resets", lastID: "18446744073709551616", want: []string{`-1 hello {"rev":3}`, `3 reset {"rev":3}`}},
		{
			name: "10 KiB resets", lastID: strings.Repeat("9", 10<<10),
			want: []string{`-1 hello {"rev":3}`, `3 reset {"rev":3}`},
		},
		{
			name: "a stream id of a host resets", query: "?since=3-1",
			want: []string{`-1 hello {"rev":3}`, `3 reset {"rev":3}`},
		},
		{name: "a query cannot name another r3labs stream", query: "?stream=x", want: []string{`3 hello {"rev":3}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := newMemory("t")
			for range 3 {
				source.change("t")
			}
			source.pruned = tt.pruned
			f := feed.New(source, feed.Options{Log: discard})
			ts := server(t, f, always)
			r := connect(t, ts.URL+"/api/tasks/t/events"+tt.query, tt.lastID)
			r.want(tt.want...)
			f.Changed(user, "t", source.change("t"))
			r.want(message(4))
		})
	}
}

func TestTaskFeedHead(t *testing.T) {
	t.Parallel()
	ts := server(t, feed.New(newMemory("t"), feed.Options{Log: discard}), always)
	got := connect(t, ts.URL+"/api/tasks/t/events", "").header
	for name, want := range map[string]string{
		"Content-Type":      "text/event-stream; charset=utf-8",
		"Cache-Control":     "no-store, no-transform",
		"X-Accel-Buffering": "no",
	} {
		if got.Get(name) != want {
			t.Errorf("%s = %q, want %q", name, got.Get(name), want)
		}
	}
}

func TestAnotherUsersTaskIsNotFound(t *testing.T) {
	t.Parallel()
	source := newMemory("t")
	source.tasks["t"].userID = "user-2"
	ts := server(t, feed.New(source, feed.Options{Log: discard}), always)
	resp, err := http.Get(ts.URL + "/api/tasks/t/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "not_found\n" {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestDeletedTaskEndsItsFeed(t *testing.T) {
	t.Parallel()
	source := newMemory("t")
	f := feed.New(source, feed.Options{Log: discard})
	r := connect(t, server(t, f, always).URL+"/api/tasks/t/events", "")
	r.want(`0 hello {"rev":0}`)
	source.set(func(m *memory) { delete(m.tasks, "t") })
	f.Changed(user, "t", 1)
	r.wantEnd()
}

// Changes continue while readers are disconnected at random: no change is missing
// and none comes twice.
func TestResumeIsExactUnderRandomCuts(t *testing.T) {
	t.Parallel()
	const changes, readers = 3000, 4
	source := newMemory("t")
	f := feed.New(source, feed.Options{Log: discard})
	url := server(t, f, always).URL + "/api/tasks/t/events"

	var all sync.WaitGroup
	for i := range readers {
		seed := rand.Uint64()
		all.Go(func() {
			cuts, err := followWithCuts(t.Context(), url, changes, 60, rand.New(rand.NewPCG(seed, uint64(i))))
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			t.Logf("reader %d, seed %d: %d cuts", i, seed, cuts)
		})
	}
	for range changes {
		f.Changed(user, "t", source.change("t"))
	}
	all.Wait()
}

// followWithCuts reads revs 1…last, dropping the connection every few frames.
func followWithCuts(ctx context.Context, url string, last, few int64, random *rand.Rand) (cuts int, err error) {
	for have := int64(0); have < last; cuts++ {
		if have, err = readSome(ctx, url, have, min(last, have+random.Int64N(few))); err != nil {
			return cuts, err
		}
	}
	return cuts, nil
}

func readSome(ctx context.Context, url string, have, until int64) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return have, err
	}
	req.Header.Set("Last-Event-ID", strconv.FormatInt(have, 10))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return have, err
	}
	defer func() { _ = resp.Body.Close() }()
	frames := newFrames(resp.Body)
	for have < until {
		frame, err := frames.Next()
		switch {
		case err != nil:
			return have, err
		case frame.Event == "hello" && frame.ID == strconv.FormatInt(have, 10):
			continue
		case frame.Event == "reset" || frame.ID != strconv.FormatInt(have+1, 10):
			return have, fmt.Errorf("after %d came %s %s", have, frame.ID, frame.Event)
		}
		have++
	}
	return have, nil
}

func TestStalledReadersDelayNoOther(t *testing.T) {
	t.Parallel()
	source := newMemory("t")
	source.text = strings.Repeat("a", 64<<10)
	f := feed.New(source, feed.Options{Log: discard, Write: 3 * time.Second})
	stop := runFeed(t, f)
	ts := server(t, f, always)
	healthy := connect(t, ts.URL+"/api/tasks/t/events", "0")
	if got := healthy.next().Event; got != "hello" {
		t.Fatal(got)
	}
	for range 20 {
		stall(t, ts.Listener.Addr().String())
	}
	for rev := int64(1); rev <= 300; rev++ {
		f.Changed(user, "t", source.change("t"))
		if got := healthy.next().ID; got != strconv.FormatInt(rev, 10) {
			t.Fatalf("got rev %s, want %d", got, rev)
		}
	}
	_ = healthy.body.Close()
	stop() // returns only when every stalled reader is disconnected
}

// stall requests the feed and never reads.
func stall(t *testing.T, addr string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(conn, "GET /api/tasks/t/events?since=0 HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
}

func TestManyConnectionsLeaveNoGoroutine(t *testing.T) {
	t.Parallel()
	source := newMemory("t")
	f := feed.New(source, feed.Options{Log: discard})
	ts := server(t, f, always)
	var done atomic.Bool
	var publisher, readers sync.WaitGroup
	publisher.Go(func() {
		for !done.Load() {
			f.Changed(user, "t", source.change("t"))
		}
	})
	for range 8 {
		readers.Go(func() {
			for range 60 {
				if _, err := readSome(t.Context(), ts.URL+"/api/tasks/t/events", 0, rand.Int64N(3)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Wait()
	done.Store(true)
	publisher.Wait()
	ts.Close() // waits for the handlers; goleak checks for all other goroutines
	if n := f.Connections(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}
