package sse_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/internal/sse"
)

func TestServePingsWhileNothingHappens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fanout, rec := sse.NewFanout(), httptest.NewRecorder()
		done := make(chan error)
		go func() {
			done <- sse.Serve(context.Background(), sse.NewWriter(rec, sse.WriterOptions{}),
				fanout.Subscribe(), sse.ServeOptions{})
		}()
		time.Sleep(25 * time.Second) // fake clock: pings at 10 and 20
		fanout.Publish([]byte("data: x\n\n"))
		time.Sleep(9 * time.Second)
		synctest.Wait()
		fanout.Publish([]byte("data: y\n\n"))
		fanout.Close()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got, want := rec.Body.String(), ": ping\n\n: ping\n\ndata: x\n\ndata: y\n\n"; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		want := http.Header{
			"Content-Type":      {"text/event-stream; charset=utf-8"},
			"Cache-Control":     {"no-store, no-transform"},
			"X-Accel-Buffering": {"no"},
		}
		if got := rec.Header(); rec.Code != 200 || !rec.Flushed || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%d, %v", rec.Code, got)
		}
	})
}

func TestServeEnds(t *testing.T) {
	t.Parallel()
	reason := errors.New("revoked")
	cases := []struct {
		name string
		end  func(*sse.Fanout, *sse.Subscription, context.CancelCauseFunc)
		want error
	}{
		{
			"with its context", func(_ *sse.Fanout, _ *sse.Subscription, cancel context.CancelCauseFunc) { cancel(reason) },
			reason,
		},
		{"when the fan-out closes", func(f *sse.Fanout, _ *sse.Subscription, _ context.CancelCauseFunc) { f.Close() }, nil},
		{
			"when the subscription closes", func(_ *sse.Fanout, s *sse.Subscription, _ context.CancelCauseFunc) { s.Close() },
			sse.ErrClosed,
		},
		{"when the peer is too slow", func(f *sse.Fanout, _ *sse.Subscription, _ context.CancelCauseFunc) {
			f.Publish(make([]byte, 1<<20))
			f.Publish(make([]byte, 1<<20))
		}, sse.ErrSlow},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fanout := sse.NewFanout()
			sub := fanout.Subscribe()
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			c.end(fanout, sub, cancel)
			err := sse.Serve(ctx, sse.NewWriter(httptest.NewRecorder(), sse.WriterOptions{}), sub, sse.ServeOptions{})
			if !errors.Is(err, c.want) || fanout.Subscribers() != 0 {
				t.Fatalf("%v, %d subscriptions left", err, fanout.Subscribers())
			}
		})
	}
}

// quiet hides the errors of Flush, as Echo's response does.
type quiet struct{ http.ResponseWriter }

func (q quiet) Flush()                      { _ = http.NewResponseController(q.ResponseWriter).Flush() }
func (q quiet) Unwrap() http.ResponseWriter { return q.ResponseWriter }

// dead fails to flush once broken is set.
type dead struct {
	http.ResponseWriter
	broken error
}

func (d *dead) FlushError() error { return d.broken }

func TestAWrapperCannotHideAFailedFlush(t *testing.T) {
	t.Parallel()
	peer := &dead{ResponseWriter: httptest.NewRecorder()}
	w := sse.NewWriter(quiet{quiet{peer}}, sse.WriterOptions{})
	if err := w.Write(sse.Ping); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken pipe")
	for _, peer.broken = range []error{broken, nil} { // the error is permanent
		if err := w.Write(sse.Ping); !errors.Is(err, broken) {
			t.Fatal(err)
		}
	}
}

// pathWithoutTimeout serves a peer whose writes never time out, so that a test with
// a short timeout does not disconnect its healthy reader on a busy machine.
const pathWithoutTimeout = "/healthy"

// serving writes a stream in a handler, or beyond it.
type serving func(w http.ResponseWriter, r *http.Request, o sse.WriterOptions, write func(context.Context, *sse.Writer))

// inHandler writes with net/http.
func inHandler(
	w http.ResponseWriter, r *http.Request, o sse.WriterOptions, write func(context.Context, *sse.Writer),
) {
	write(r.Context(), sse.NewWriter(w, o))
}

// onTaken writes on the connection that it takes from net/http.
func onTaken(w http.ResponseWriter, r *http.Request, o sse.WriterOptions, write func(context.Context, *sse.Writer)) {
	stream := sse.TakeWriter(w, r, o)
	if !stream.Taken() {
		panic("the connection was not taken")
	}
	go func() {
		defer stream.Close()
		write(context.WithoutCancel(r.Context()), stream)
	}()
}

// forEachServing runs a test with both ways of serving.
func forEachServing(t *testing.T, test func(t *testing.T, by serving)) {
	t.Run("in the handler", func(t *testing.T) { test(t, inHandler) })
	t.Run("on a taken connection", func(t *testing.T) { test(t, onTaken) })
}

// streams is a server where every request subscribes to one Fanout.
type streams struct {
	*httptest.Server
	fanout *sse.Fanout
	ended  chan error
}

func newStreams(t *testing.T, by serving, timeout, ping time.Duration, configure func(*http.Server)) *streams {
	s := &streams{fanout: sse.NewFanout(), ended: make(chan error, 1000)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sub := s.fanout.Subscribe()
		options := sse.WriterOptions{WriteTimeout: timeout}
		if r.URL.Path == pathWithoutTimeout {
			options.WriteTimeout = time.Hour
		}
		by(w, r, options, func(ctx context.Context, stream *sse.Writer) {
			s.ended <- sse.Serve(ctx, stream, sub, sse.ServeOptions{Ping: ping})
		})
	}))
	if configure != nil {
		configure(s.Config)
	}
	s.Start()
	t.Cleanup(func() {
		s.fanout.Close()
		s.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return s
}

func (s *streams) subscribe(t *testing.T) (*sse.Reader, func()) {
	t.Helper()
	resp, err := http.Get(s.URL + pathWithoutTimeout)
	if err != nil {
		t.Fatal(err)
	}
	return sse.NewReader(resp.Body), func() { _ = resp.Body.Close() }
}

// Twenty peers never read; the healthy one gets every frame.
func TestStalledPeersAreDisconnectedAndOthersUnaffected(t *testing.T) {
	t.Parallel()
	forEachServing(t, testStalledPeersAreDisconnectedAndOthersUnaffected)
}

func testStalledPeersAreDisconnectedAndOthersUnaffected(t *testing.T, by serving) {
	const stalled, frames = 20, 1000
	s := newStreams(t, by, 50*time.Millisecond, time.Minute, nil)
	for range stalled {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReaderSize(conn, 16).ReadByte(); err != nil { // the subscription exists
			t.Fatal(err)
		}
	}
	healthy, hangUp := s.subscribe(t)
	defer hangUp()
	payload := strings.Repeat("x", 16<<10)
	for i := range frames {
		encoded, err := sse.Encode(sse.Frame{ID: fmt.Sprint(i), Data: []byte(payload)})
		if err != nil {
			t.Fatal(err)
		}
		s.fanout.Publish(encoded)
		if frame, err := healthy.Next(); err != nil || frame.ID != fmt.Sprint(i) || len(frame.Data) != len(payload) {
			t.Fatalf("frame %d: %q, %v", i, frame.ID, err)
		}
	}
	for range stalled {
		if err := <-s.ended; err == nil {
			t.Error("a peer that never read was served to the end")
		}
	}
	if n := s.fanout.Subscribers(); n != 1 {
		t.Fatalf("%d subscriptions", n)
	}
}

func TestTimeoutsOfTheServerDoNotCutStreams(t *testing.T) {
	t.Parallel()
	forEachServing(t, testTimeoutsOfTheServerDoNotCutStreams)
}

func testTimeoutsOfTheServerDoNotCutStreams(t *testing.T, by serving) {
	s := newStreams(t, by, 0, 20*time.Millisecond, func(server *http.Server) {
		server.WriteTimeout, server.ReadTimeout = 100*time.Millisecond, 100*time.Millisecond
	})
	reader, hangUp := s.subscribe(t)
	defer hangUp()
	chunks := 0
	reader.OnBytes = func() {
		if chunks++; chunks == 20 {
			s.fanout.Publish([]byte("data: still here\n\n"))
		}
	}
	if frame, err := reader.Next(); err != nil || string(frame.Data) != "still here" {
		t.Fatalf("%+v, %v after %d chunks", frame, err, chunks)
	}
}

func TestDisconnectedPeersLeaveNoSubscriptions(t *testing.T) {
	t.Parallel()
	forEachServing(t, testDisconnectedPeersLeaveNoSubscriptions)
}

func testDisconnectedPeersLeaveNoSubscriptions(t *testing.T, by serving) {
	const peers, rounds = 20, 10
	s := newStreams(t, by, 0, time.Minute, nil)
	for range rounds {
		var group sync.WaitGroup
		for range peers {
			group.Go(func() {
				resp, err := http.Get(s.URL)
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
			})
		}
		group.Wait()
		for range peers {
			if err := <-s.ended; err == nil {
				t.Error("a stream ended without a reason")
			}
		}
	}
	if n := s.fanout.Subscribers(); n != 0 {
		t.Fatalf("%d subscriptions left", n)
	}
}

func TestServeConverts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fanout, rec := sse.NewFanout(), httptest.NewRecorder()
		done := make(chan error)
		refused := errors.New("no frame")
		convert := func(batch [][]byte) (out [][]byte, err error) {
			for _, frame := range batch {
				switch string(frame) {
				case "nothing":
				case "bad":
					return nil, refused
				default:
					out = append(out, frame, frame)
				}
			}
			return out, nil
		}
		go func() {
			done <- sse.Serve(context.Background(), sse.NewWriter(rec, sse.WriterOptions{}), fanout.Subscribe(),
				sse.ServeOptions{Convert: convert})
		}()
		synctest.Wait()
		fanout.Publish([]byte("x"))
		for range 3 { // frames that are converted to nothing do not postpone the ping
			time.Sleep(8 * time.Second)
			fanout.Publish([]byte("nothing"))
		}
		synctest.Wait()
		fanout.Publish([]byte("bad"))
		if err := <-done; !errors.Is(err, refused) {
			t.Fatal(err)
		}
		if got, want := rec.Body.String(), "xx: ping\n\n: ping\n\n"; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}
