package sse_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/internal/sse"
)

// pipes is a listener whose connections are net.Pipe, so that they can be used with a fake clock.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { close(l.ended); return nil }
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

const getRequest = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// taken is a stream on a taken connection, on the bubble's fake clock.
type taken struct {
	fanout *sse.Fanout
	client net.Conn
	cancel context.CancelCauseFunc
	ended  chan error
	body   *bufio.Reader // after the headers, still chunked
}

func takeConn(t *testing.T, ping time.Duration) *taken {
	t.Helper()
	s := &taken{fanout: sse.NewFanout(), ended: make(chan error, 1)}
	listener := &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}
	server := &http.Server{ReadHeaderTimeout: time.Minute}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sub := s.fanout.Subscribe()
		var ctx context.Context
		ctx, s.cancel = context.WithCancelCause(context.Background())
		onTaken(w, r, sse.WriterOptions{}, func(_ context.Context, stream *sse.Writer) {
			s.ended <- sse.Serve(ctx, stream, sub, sse.ServeOptions{Ping: ping})
		})
	})
	go func() { _ = server.Serve(listener) }()
	var peer net.Conn
	s.client, peer = net.Pipe()
	listener.conns <- peer
	go func() { _, _ = io.WriteString(s.client, getRequest) }()
	s.body = bufio.NewReader(s.client)
	if _, err := http.ReadResponse(s.body, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.cancel(nil)
		_ = s.client.Close()
		_ = server.Close()
	})
	return s
}

func (s *taken) next(t *testing.T) string {
	t.Helper()
	var length int
	if _, err := fmt.Fscanf(s.body, "%x\r\n", &length); err != nil {
		t.Fatal(err)
	}
	chunk := make([]byte, length+2)
	if _, err := io.ReadFull(s.body, chunk); err != nil || !bytes.HasSuffix(chunk, []byte("\r\n")) {
		t.Fatalf("%q, %v", chunk, err)
	}
	return string(chunk[:length])
}

func TestATakenConnectionPingsAndWritesWhatIsQueuedInOneChunk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, s := time.Now(), takeConn(t, 10*time.Second)
		for i := range 2 {
			if got := s.next(t); got != ": ping\n\n" || time.Since(began) != time.Duration(i+1)*10*time.Second {
				t.Fatalf("%q after %s", got, time.Since(began))
			}
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		s.fanout.Publish([]byte("data: a\n\n"))
		synctest.Wait() // the stream blocks in its write of a
		s.fanout.Publish([]byte("data: b\n\n"))
		s.fanout.Publish([]byte("data: c\n\n"))
		for _, want := range []string{"data: a\n\n", "data: b\n\ndata: c\n\n", ": ping\n\n"} {
			if got := s.next(t); got != want {
				t.Fatalf("%q instead of %q", got, want)
			}
		}
		if since := time.Since(began); since != 35*time.Second {
			t.Errorf("the ping came %s after the beginning", since)
		}
	})
}

func TestATakenConnectionEnds(t *testing.T) {
	t.Parallel()
	reason := errors.New("revoked")
	for _, c := range []struct {
		name string
		end  func(*taken)
		want error
		rest string // what the peer reads
	}{
		{"with its context", func(s *taken) { s.cancel(reason) }, reason, "0\r\n\r\n"},
		{"when the fan-out closes", func(s *taken) {
			s.fanout.Publish([]byte("x"))
			s.fanout.Close()
		}, nil, "1\r\nx\r\n0\r\n\r\n"},
		{"when the peer leaves", func(s *taken) { _ = s.client.Close() }, sse.ErrLeft, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := takeConn(t, 24*time.Hour)
				if _, err := io.WriteString(s.client, "more bytes than a request has "+strings.Repeat("x", 1000)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				began := time.Now()
				c.end(s)
				rest, _ := io.ReadAll(s.body)
				if err := <-s.ended; !errors.Is(err, c.want) || string(rest) != c.rest || time.Since(began) != 0 {
					t.Errorf("%v, %q after %s", err, rest, time.Since(began))
				}
			})
		})
	}
}

func TestATakenConnectionIsClosedWhenAWriteTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := takeConn(t, time.Hour)
		began := time.Now()
		s.fanout.Publish(bytes.Repeat([]byte("x"), 100<<10))
		if err := <-s.ended; err == nil || time.Since(began) != sse.WriteTimeout {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if _, err := s.body.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("a stream that was cut goes on: %v", err)
		}
	})
}

// The frames are below, at and above the size up to which a batch is copied.
func TestATakenConnectionGivesTheSameResponse(t *testing.T) {
	t.Parallel()
	var batches [][][]byte
	for _, size := range []int{0, 1, 2047, 2048, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20} {
		frame := bytes.Repeat([]byte{'a' + byte(len(batches))}, size)
		batches = append(batches, [][]byte{frame}, [][]byte{frame, []byte("-"), frame}, nil)
	}
	responses := map[string]string{}
	forEachServing(t, func(t *testing.T, by serving) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", "today")
			w.Header().Set("X-Other", "kept")
			by(w, r, sse.WriterOptions{WriteTimeout: time.Hour}, func(_ context.Context, stream *sse.Writer) {
				for _, batch := range batches {
					if err := stream.WriteBatch(batch); err != nil {
						t.Error(err)
					}
				}
			})
		}))
		defer server.Close()
		resp, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || len(resp.TransferEncoding) != 1 || resp.TransferEncoding[0] != "chunked" {
			t.Errorf("%v, %v", resp.TransferEncoding, err)
		}
		_ = resp.Body.Close()
		resp.Header.Del("Connection")
		responses[t.Name()] = fmt.Sprint(resp.Proto, resp.Status, resp.Header, string(body))
	})
	var first string
	for name, response := range responses {
		if first = responses[t.Name()+"/in_the_handler"]; first != response {
			t.Errorf("%s: %d bytes instead of %d", name, len(response), len(first))
		}
	}
	if len(responses) != 2 || len(first) < 5<<20/2 {
		t.Errorf("%d responses, of %d bytes", len(responses), len(first))
	}
}

// bare hides everything but the interface.
type bare struct{ http.ResponseWriter }

func (b bare) Flush() { b.ResponseWriter.(http.Flusher).Flush() }

// pretender has the method of a hijacker, as Echo's response does, around one that has none.
type pretender struct{ http.ResponseWriter }

func (p pretender) Unwrap() http.ResponseWriter                { return p.ResponseWriter }
func (pretender) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, http.ErrNotSupported }

func (p pretender) Flush() { p.ResponseWriter.(http.Flusher).Flush() }

func TestConnectionsThatCannotBeTakenAreWrittenByTheirHandler(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		start func(*httptest.Server)
		write string // "" = a request by a client
		wrap  func(http.ResponseWriter) http.ResponseWriter
	}{
		{"HTTP/2", func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() }, "", nil},
		{"TLS", (*httptest.Server).StartTLS, "", nil},
		{"HTTP/1.0", (*httptest.Server).Start, "GET / HTTP/1.0\r\nHost: x\r\n\r\n", nil},
		{"HEAD", (*httptest.Server).Start, "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", nil},
		{
			"a writer without a connection", (*httptest.Server).Start, "",
			func(w http.ResponseWriter) http.ResponseWriter { return bare{w} },
		},
		{
			"a wrapper of such a writer", (*httptest.Server).Start, "",
			func(w http.ResponseWriter) http.ResponseWriter { return pretender{bare{w}} },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.wrap != nil {
					w = c.wrap(w)
				}
				stream := sse.TakeWriter(w, r, sse.WriterOptions{WriteTimeout: time.Hour})
				defer stream.Close()
				if stream.Taken() || stream.Write([]byte("data: x\n\n")) != nil {
					t.Errorf("taken: %v", stream.Taken())
				}
			}))
			c.start(server)
			defer server.Close()
			if c.write == "" {
				resp, err := server.Client().Get(server.URL)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil || string(body) != "data: x\n\n" {
					t.Errorf("%q, %v", body, err)
				}
				_ = resp.Body.Close()
				return
			}
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, c.write); err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(conn)
			if _, body, _ := strings.Cut(string(raw), "\r\n\r\n"); err != nil || body != "data: x\n\n" && c.name != "HEAD" {
				t.Errorf("%q, %v", raw, err)
			}
		})
	}
}

func TestASilentReaderOfATakenConnectionNeedsOneGoroutine(t *testing.T) { //nolint:paralleltest // counts goroutines
	const readers = 50
	s := newStreams(t, onTaken, 0, time.Hour, nil)
	before := runtime.NumGoroutine()
	for range readers {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, getRequest); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err != nil { // the stream has begun
			t.Fatal(err)
		}
	}
	// The handlers return soon, at a time that the test does not know; so do goroutines of earlier tests.
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		n := runtime.NumGoroutine() - before
		if n <= readers && s.fanout.Subscribers() == readers {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%d goroutines for %d readers", n, readers)
		}
	}
}
