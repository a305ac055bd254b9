package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// readersRole reads streams like many browsers, and holds connections that it never
// reads from.
type readersRole struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	conns  []net.Conn
	stuck  []net.Conn

	now   atomic.Pointer[measured] // nil when no measurement runs
	mu    sync.Mutex
	ended error // why a stream ended early
}

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

func newReadersRole() *readersRole {
	r := &readersRole{}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

func (r *readersRole) close() error {
	r.cancel()
	for _, c := range append(r.conns, r.stuck...) {
		_ = c.Close()
	}
	r.wg.Wait()
	return nil
}

// Measure measures for the duration d.
func (r *readersRole) Measure(d time.Duration, out *ReaderResult) error {
	m := &measured{}
	r.now.Store(m)
	time.Sleep(d)
	r.now.Store(nil)
	*out = ReaderResult{Parts: m.parts.spread(), Ends: m.ends.spread()}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// Read connects every reader and returns when all streams have begun.
func (r *readersRole) Read(o ReaderOrder, _ *bool) error {
	return parallel(r.ctx, len(o.Targets)*o.Each, 32, func(ctx context.Context, i int) {
		conn := must(get(ctx, &net.Dialer{}, o.Address, o.Targets[i%len(o.Targets)]))
		r.mu.Lock()
		r.conns = append(r.conns, conn)
		r.mu.Unlock()
		body := must(streamOf(conn))
		r.wg.Go(func() { r.follow(body) })
	})
}

// Stall connects readers that never read, with the smallest receive buffer.
func (r *readersRole) Stall(o ReaderOrder, _ *bool) error {
	small := &net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		}), err)
	}}
	for i := range len(o.Targets) * o.Each {
		conn, err := get(r.ctx, small, o.Address, o.Targets[i%len(o.Targets)])
		if err != nil {
			return err
		}
		r.stuck = append(r.stuck, conn)
	}
	return nil
}

// Unstall closes the connections of readers that never read.
func (r *readersRole) Unstall(_ bool, _ *bool) error { //nolint:unparam // net/rpc wants it
	for _, c := range r.stuck {
		_ = c.Close()
	}
	r.stuck = nil
	return nil
}

func get(ctx context.Context, d *net.Dialer, address, target string) (net.Conn, error) {
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", target, address)
	return conn, err
}

// streamOf reads the head of the response. Its body is decoded here, because
// net/http takes a lock for every read.
func streamOf(conn net.Conn) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(conn, 2<<10)
	resp, err := http.ReadResponse(in, nil) //nolint:bodyclose // read below it
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return nil, fmt.Errorf("the stream answered %s: %s", resp.Status, answer)
	}
	return bufio.NewReaderSize(httputil.NewChunkedReader(in), 2<<10), nil
}

// follow records the age of every part and of every text-end when it is read.
func (r *readersRole) follow(in *bufio.Reader) {
	var ended int64 // when the last part of the block was written
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue // a part without a mark
		}
		if err != nil {
			r.lost(err)
			return
		}
		if !bytes.HasPrefix(line, []byte("data:")) {
			continue
		}
		now := time.Now().UnixNano()
		m := r.now.Load()
		switch {
		case m == nil:
		case bytes.Contains(line, []byte(`"type":"text-end"`)):
			if ended > 0 {
				m.ends.add(time.Duration(now - ended))
			}
		default:
			if at := markIn(line, partMark); at > 0 {
				m.parts.add(time.Duration(now - at))
			}
		}
		if at := markIn(line, endMark); at > 0 {
			ended = at
		}
	}
}

func (r *readersRole) lost(err error) {
	if r.ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		r.ended = fmt.Errorf("a healthy reader lost its stream: %w", err)
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
