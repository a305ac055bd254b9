package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bellhop/internal/wait"
	"bellhop/protocol"
)

// stream measures many readers of one host, in turns with and without readers that
// never read. The broker is a stub.
func stream(r *run) []row {
	hook, host, readers := r.stub().hook, r.host(r.dir()), r.readers()
	sessions := make([]*session, r.scale.sessions)
	r.parallel(len(sessions), 8, func(ctx context.Context, i int) {
		sessions[i] = host.open(ctx, &protocol.OpenSessionRequest{WebhookURL: hook})
		sessions[i].complete(ctx, fmt.Sprintf("bulk %d", r.scale.backlog))
	})
	alone := host.footprint()
	readers.read(sessions, r.scale.readers/len(sessions))
	idle := host.footprint()
	r.parallel(len(sessions), 8, func(ctx context.Context, i int) {
		sessions[i].begin(ctx, fmt.Sprintf("pace %s 100", r.scale.every))
	})
	readers.warmUp()
	used, elapsed := newMeter(host.Pid(), os.Getpid()), time.Duration(0)
	t := inTurns(r, func() spread {
		defer readers.stall(sessions[:min(r.scale.stalled, len(sessions))])()
		return readers.measure(r.scale.round).parts.spread()
	}, func() (seen spread) {
		start := time.Now()
		used.during(func() { seen = readers.measure(r.scale.round).parts.spread() })
		elapsed += time.Since(start)
		return seen
	})
	return streamRows(r.scale, used, elapsed, t, [3]footprint{alone, idle, host.footprint()})
}

// streamRows takes the footprints of the host alone, with idle readers, and with busy
// ones.
func streamRows(sc scale, used *meter, elapsed time.Duration, t turns[spread], host [3]footprint) []row {
	healthy, seconds, parts := spreads(t.yard), elapsed.Seconds(), 0
	for _, one := range healthy {
		parts += one.Count
	}
	live, resident, _ := host[1].per(sc.readers, host[0])
	liveBusy, residentBusy, goroutines := host[2].per(sc.readers, host[0])
	return []row{{
		what: fmt.Sprintf("part → reader: %d readers on %d sessions, a part every %s in each", sc.readers, sc.sessions,
			sc.every),
		figure: fmt.Sprintf("%s, longest %s; %.0f parts/s delivered", healthy, brief(healthy.longest()),
			float64(parts)/seconds),
		bound: fmt.Sprintf("CPU: host %.2f, readers %.2f cores; a write and a read of a socket for every part and reader",
			used.sums[0].Seconds()/seconds, used.sums[1].Seconds()/seconds),
	}, spreadRow(
		fmt.Sprintf("the same beside %d readers that never read, %s behind", sc.stalled, kib(float64(sc.backlog))), t,
		"without them, in turns", "they are cut after 5 s without progress",
	).adding("longest " + brief(spreads(t.own).longest())), {
		what: "memory and goroutines of a reader",
		figure: fmt.Sprintf("%s live (%s resident) idle, %s live (%s resident) streaming; %.2f goroutines",
			live, resident, liveBusy, residentBusy, goroutines),
		bound: "one goroutine with its stack, the connection, and while it writes a buffer",
	}}
}

// readers read streams like many browsers, in this process.
type readers struct {
	*run
	ctx     context.Context // ends all readers
	running sync.WaitGroup
	count   int
	warm    atomic.Int64          // readers that have seen warmParts
	now     atomic.Pointer[ages]  // nil when no measurement runs
	ended   atomic.Pointer[error] // why a stream ended early
}

// warmParts is the number of parts that each reader reads before the first measurement.
const warmParts = 20

// ages holds how old parts and ends of blocks were when they were read.
type ages struct{ parts, ends samples }

func (r *run) readers() *readers {
	ctx, cancel := context.WithCancel(r.ctx)
	all := &readers{run: r, ctx: ctx}
	r.onClose(func() error {
		cancel()
		all.running.Wait()
		return nil
	})
	return all
}

// measure measures for the duration d.
func (r *readers) measure(d time.Duration) *ages {
	seen := &ages{}
	r.now.Store(seen)
	wait.For(r.ctx, d)
	r.now.Store(nil)
	if err := r.ended.Load(); err != nil {
		check(fmt.Errorf("a healthy reader lost its stream: %w", *err))
	}
	return seen
}

// read connects readers of each session and returns when all streams have begun.
func (r *readers) read(sessions []*session, each int) {
	r.parallel(len(sessions)*each, 32, func(ctx context.Context, i int) {
		conn := sessions[i%len(sessions)].stream(ctx, &net.Dialer{}, url.Values{})
		in := bufio.NewReaderSize(conn, 2<<10)
		must(successful(http.ReadResponse(in, nil)))
		// The body is decoded here, because net/http takes a lock for every read.
		body := bufio.NewReaderSize(httputil.NewChunkedReader(in), 2<<10)
		r.follow(conn.Close, func() ([]byte, error) { return body.ReadSlice('\n') })
	})
	r.count += len(sessions) * each
}

// warmUp returns when each reader has seen warmParts.
func (r *readers) warmUp() {
	r.await("readers that see parts", r.count, func() int { return int(r.warm.Load()) })
}

// follow reads lines in the background until the connection or the run ends.
func (r *readers) follow(disconnect func() error, next func() ([]byte, error)) {
	context.AfterFunc(r.ctx, func() { _ = disconnect() })
	r.running.Go(func() {
		if err := r.record(next); r.ctx.Err() == nil {
			r.ended.CompareAndSwap(nil, &err)
		}
	})
}

// record records the age of every part and of every text-end when it is read. It
// returns the error that ended the stream.
func (r *readers) record(next func() ([]byte, error)) error {
	var ended int64 // when the last part of the block was written
	for parts := 0; ; {
		line, err := next()
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) { // a long line has no mark
			return err
		}
		now, seen := time.Now().UnixNano(), r.now.Load()
		part, isEnd := markIn(line, partMark), bytes.Contains(line, []byte(`"type":"text-end"`))
		if part > 0 {
			if parts++; parts == warmParts {
				r.warm.Add(1)
			}
		}
		switch {
		case seen == nil:
		case isEnd && ended > 0:
			seen.ends.add(time.Duration(now - ended))
		case !isEnd && part > 0:
			seen.parts.add(time.Duration(now - part))
		}
		ended = cmp.Or(markIn(line, endMark), ended)
	}
}

// markIn returns the time after a mark, or 0 if the line has none.
func markIn(line []byte, mark string) int64 {
	_, rest, found := bytes.Cut(line, []byte(mark))
	if !found {
		return 0
	}
	digits, _, _ := bytes.Cut(rest, []byte(" "))
	at, _ := strconv.ParseInt(string(digits), 10, 64)
	return at
}

// stall connects readers with the smallest receive buffer to streams from their
// beginning. Each reads 1 KiB, so that the host is writing, and then nothing more. The
// result disconnects them.
func (r *readers) stall(sessions []*session) (end func()) {
	small := &net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		}), err)
	}}
	stuck := each(sessions, func(s *session) net.Conn {
		conn := s.stream(r.ctx, small, url.Values{"after": {s.before}})
		check(conn.SetReadDeadline(time.Now().Add(time.Minute)))
		must(bufio.NewReaderSize(conn, 1<<10).Peek(1 << 10)) // more than the response's header
		return conn
	})
	return func() {
		for _, conn := range stuck {
			_ = conn.Close()
		}
	}
}

// stream requests a session's stream without net/http's client, which would cost more
// than it measures.
func (s *session) stream(ctx context.Context, d *net.Dialer, query url.Values) net.Conn {
	address := strings.TrimPrefix(s.host.url, "http://")
	query.Set("token", s.token)
	query.Set("follow", "true")
	conn := must(d.DialContext(ctx, "tcp", address))
	must(fmt.Fprintf(conn, "GET /stream/%s?%s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n",
		s.id, query.Encode(), address))
	return conn
}
