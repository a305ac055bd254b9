package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"bellhop/protocol"
)

// stream measures many readers of one host, in turns with and without readers that
// never read. The broker is a stub.
func stream(r *run) []row {
	hook, host, readers := r.stub().hook, r.host(r.dir()), r.role("readers")
	sessions := make([]*session, r.scale.sessions)
	r.parallel(len(sessions), 8, func(ctx context.Context, i int) {
		sessions[i] = host.open(ctx, &protocol.OpenSessionRequest{WebhookURL: hook})
		sessions[i].complete(ctx, fmt.Sprintf("bulk %d", r.scale.backlog))
	})
	alone := host.footprint()
	readers.do("Read", reading(sessions, r.scale.readers/len(sessions), false))
	idle := host.footprint()
	r.parallel(len(sessions), 8, func(ctx context.Context, i int) {
		sessions[i].begin(ctx, fmt.Sprintf("pace %s 100", r.scale.every))
	})
	readers.do("Warm", true)
	used, elapsed := newMeter(host.Pid(), readers.Pid()), time.Duration(0)
	t := inTurns(r, func() spread {
		readers.do("Stall", reading(sessions[:min(r.scale.stalled, len(sessions))], 1, true))
		defer readers.do("Unstall", true)
		return ask[ReaderResult](readers, "Measure", r.scale.round).Parts
	}, func() (seen spread) {
		start := time.Now()
		used.during(func() { seen = ask[ReaderResult](readers, "Measure", r.scale.round).Parts })
		elapsed += time.Since(start)
		return seen
	})
	return streamRows(r.scale, used, elapsed, t, [3]Footprint{alone, idle, host.footprint()})
}

// streamRows takes the footprints of the host alone, with idle readers, and with busy
// ones.
func streamRows(sc scale, used *meter, elapsed time.Duration, t turns[spread], host [3]Footprint) []row {
	healthy, stalled, seconds, parts := spreads(t.yard), spreads(t.own), elapsed.Seconds(), 0
	for _, one := range healthy {
		parts += one.Count
	}
	live, resident, _ := host[1].per(sc.readers, host[0])
	liveBusy, residentBusy, goroutines := host[2].per(sc.readers, host[0])
	return []row{{
		what: fmt.Sprintf("part → reader: %d readers on %d sessions, a part every %s in each", sc.readers, sc.sessions,
			sc.every),
		figure: fmt.Sprintf("%s; %.0f parts/s delivered", healthy.longest(), float64(parts)/seconds),
		bound: fmt.Sprintf("CPU: host %.2f, readers %.2f cores; a write and a read of a socket for every part and reader",
			used.sums[0].Seconds()/seconds, used.sums[1].Seconds()/seconds),
	}, {
		what:   fmt.Sprintf("the same beside %d readers that never read, %s behind", sc.stalled, kib(float64(sc.backlog))),
		figure: stalled.longest(),
		beside: "without them, in turns: p99 " + brief(median(healthy.p99())),
		ratio:  ratio(stalled.p99(), healthy.p99()),
		bound:  "they are cut after 5 s without progress",
	}, {
		what: "memory and goroutines of a reader",
		figure: fmt.Sprintf("%s live (%s resident) idle, %s live (%s resident) streaming; %.2f goroutines",
			live, resident, liveBusy, residentBusy, goroutines),
		bound: "net/http: two goroutines with their stacks and 10 KiB of buffers for a connection",
	}}
}

// readersRole reads streams like many browsers, and holds connections that it never
// reads from.
type readersRole struct {
	*life
	stuck []net.Conn
	count atomic.Int64             // readers
	warm  atomic.Int64             // readers that have seen warmParts
	now   atomic.Pointer[measured] // nil when no measurement runs
	ended atomic.Pointer[error]    // why a stream ended early
}

// warmParts is the number of parts that each reader reads before the first measurement.
const warmParts = 20

// measured holds the ages that readers saw in a span of time.
type measured struct{ parts, ends samples }

// ReaderOrder names streams, and the number of readers of each.
type ReaderOrder struct {
	Address string
	Targets []string // paths with query
	Each    int
}

// ReaderResult holds the ages of parts when they were read.
type ReaderResult struct{ Parts, Ends spread }

// Measure measures for the duration d.
func (r *readersRole) Measure(d time.Duration, out *ReaderResult) error {
	m := &measured{}
	r.now.Store(m)
	span(r.ctx, d)
	r.now.Store(nil)
	*out = ReaderResult{Parts: m.parts.spread(), Ends: m.ends.spread()}
	if err := r.ended.Load(); err != nil {
		return fmt.Errorf("a healthy reader lost its stream: %w", *err)
	}
	return nil
}

// Read connects every reader and returns when all streams have begun.
func (r *readersRole) Read(o ReaderOrder, _ *bool) error {
	return parallel(r.ctx, len(o.Targets)*o.Each, 32, func(ctx context.Context, i int) {
		conn := r.get(ctx, &net.Dialer{}, o, i)
		context.AfterFunc(r.ctx, func() { _ = conn.Close() })
		in := bufio.NewReaderSize(conn, 2<<10)
		must(successful(http.ReadResponse(in, nil)))
		// The body is decoded here, because net/http takes a lock for every read.
		body := bufio.NewReaderSize(httputil.NewChunkedReader(in), 2<<10)
		r.count.Add(1)
		r.running.Go(func() error {
			if err := r.follow(body); r.ctx.Err() == nil {
				r.ended.CompareAndSwap(nil, &err)
			}
			return nil
		})
	})
}

// Warm returns when each reader has seen warmParts.
func (r *readersRole) Warm(_ bool, _ *bool) error {
	return r.await("readers that see parts", func() (have, want int64) { return r.warm.Load(), r.count.Load() })
}

// Stall connects readers that never read, with the smallest receive buffer. It returns
// when data waits for each of them: the host is writing, and nothing reads it.
func (r *readersRole) Stall(o ReaderOrder, _ *bool) error {
	small := &net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		}), err)
	}}
	return parallel(r.ctx, len(o.Targets)*o.Each, 1, func(ctx context.Context, i int) {
		conn := r.get(ctx, small, o, i)
		r.stuck = append(r.stuck, conn)
		check(awaitUnread(conn))
	})
}

// awaitUnread returns when 1 KiB waits in a connection: more than the response's header.
func awaitUnread(conn net.Conn) error {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err := errors.Join(err, conn.SetReadDeadline(time.Now().Add(patience))); err != nil {
		return err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1<<10), syscall.MSG_PEEK)
		if n == 0 && err == nil {
			err = io.ErrUnexpectedEOF
		}
		if err != nil && !errors.Is(err, syscall.EAGAIN) {
			failed = err
		}
		return failed != nil || n == 1<<10 // otherwise Read waits for more
	})
	return errors.Join(err, failed)
}

// Unstall closes the connections of readers that never read.
func (r *readersRole) Unstall(_ bool, _ *bool) error { //nolint:unparam // net/rpc wants it
	for _, c := range r.stuck {
		_ = c.Close()
	}
	r.stuck = nil
	return nil
}

// get requests the stream of the reader i.
func (r *readersRole) get(ctx context.Context, d *net.Dialer, o ReaderOrder, i int) net.Conn {
	conn := must(d.DialContext(ctx, "tcp", o.Address))
	must(fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n",
		o.Targets[i%len(o.Targets)], o.Address))
	return conn
}

// follow records the age of every part and of every text-end when it is read. It
// returns the error that ended the stream.
func (r *readersRole) follow(in *bufio.Reader) error {
	var ended int64 // when the last part of the block was written
	for parts := 0; ; {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue // a part without a mark
		}
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(line, []byte("data:")) {
			continue
		}
		now, m := time.Now().UnixNano(), r.now.Load()
		part, isEnd := markIn(line, partMark), bytes.Contains(line, []byte(`"type":"text-end"`))
		if part > 0 {
			if parts++; parts == warmParts {
				r.warm.Add(1)
			}
		}
		switch {
		case m == nil:
		case isEnd && ended > 0:
			m.ends.add(time.Duration(now - ended))
		case !isEnd && part > 0:
			m.parts.add(time.Duration(now - part))
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
