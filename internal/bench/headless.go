package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"bellhop/internal/jsonlines"
	"bellhop/protocol"
)

// measureHeadless is the codec of lines in this process, and WebSocket clients of
// a host in another.
func measureHeadless(ctx context.Context, b *bench) ([]row, error) {
	codec, err := codecRows(b.scale.round)
	if err != nil {
		return nil, err
	}
	clients, err := b.lineClients(ctx)
	return append(codec, clients...), err
}

func codecRows(span time.Duration) ([]row, error) {
	text := "a few words of an answer "
	line := protocol.Line{Type: protocol.LineChunk, SessionID: protocol.NewID(), Content: &text}
	w, written := jsonlines.NewWriter(io.Discard), 0
	start := time.Now()
	for ; time.Since(start) < span; written++ {
		if err := w.Write(line); err != nil {
			return nil, err
		}
	}
	writing := time.Since(start)
	raw, err := json.Marshal(line)
	if err != nil {
		return nil, err
	}
	stream, read := bytes.Repeat(append(raw, '\n'), 1000), 0
	start = time.Now()
	for ; time.Since(start) < span; read += 1000 {
		if _, err := readLines(stream, 1000); err != nil {
			return nil, err
		}
	}
	reading := time.Since(start)
	large := []byte(`{"type":"input","attachments":[{"type":"image","data":"` + strings.Repeat("A", 4<<20) + "\"}]}\n")
	allocated, err := readLines(large, 1)
	if err != nil {
		return nil, err
	}
	return []row{
		{
			what:   fmt.Sprintf("lines of stdio: a chunk of %d bytes", len(raw)),
			figure: fmt.Sprintf("%.0f written, %.0f read and checked, a second", float64(written)/writing.Seconds(), float64(read)/reading.Seconds()),
			bound:  "one core: JSON, and for reading the check for duplicate members and depth",
		},
		{
			what:   "memory for a line of 4 MiB, read and parsed",
			figure: kib(float64(allocated)) + " allocated in all",
			bound:  "the line's buffer doubles as it grows; the parsed value is a copy",
		},
	}, nil
}

// readLines reads and parses n lines and tells what was allocated meanwhile.
func readLines(stream []byte, n int) (allocated uint64, err error) {
	var before, after runtime.MemStats
	if n == 1 {
		runtime.ReadMemStats(&before)
	}
	r := jsonlines.NewReader(bytes.NewReader(stream), protocol.MaxLine)
	for range n {
		line, err := r.Next()
		if err == nil {
			_, err = protocol.ParseLine(line)
		}
		if err != nil {
			return 0, err
		}
	}
	if n == 1 {
		runtime.ReadMemStats(&after)
	}
	return after.TotalAlloc - before.TotalAlloc, nil
}

// crowd is the clients of this figure, in this process.
type crowd struct {
	conns []*websocket.Conn
	wg    sync.WaitGroup
	on    atomic.Bool
	lines histogram
}

func (b *bench) lineClients(ctx context.Context) (rows []row, err error) {
	dir, err := os.MkdirTemp("", "bellhop-bench-host-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	host, err := b.startHost(ctx, dir)
	if err != nil {
		return nil, err
	}
	c := &crowd{}
	defer func() {
		c.leave()
		transport.CloseIdleConnections()
		err = errors.Join(err, host.stop())
	}()
	alone, err := host.footprint()
	if err != nil {
		return nil, err
	}
	clients := b.scale.readers / 2
	for range b.scale.sessions {
		if err := c.join(ctx, host, clients/b.scale.sessions, fmt.Sprintf("pace %s 100", b.scale.every)); err != nil {
			return nil, err
		}
	}
	c.on.Store(true)
	time.Sleep(2 * b.scale.round)
	c.on.Store(false)
	busy, err := host.footprint()
	if err != nil {
		return nil, err
	}
	s, held := c.lines.spread(), busy.sub(alone)
	return []row{{
		what: fmt.Sprintf("line → WebSocket client: %d clients on %d sessions, a line every %s in each", len(c.conns), b.scale.sessions, b.scale.every),
		figure: fmt.Sprintf("p50 %s, p99 %s, longest %s; %.0f lines/s delivered; %s live and %.2f goroutines a client",
			brief(s.P50), brief(s.P99), brief(s.Max), float64(s.Count)/(2*b.scale.round).Seconds(),
			kib(float64(held.Live)/float64(len(c.conns))), float64(held.Goroutines)/float64(len(c.conns))),
		bound: "CPU, which host and clients share: a write and a read of a socket, and the client's JSON, for every line and client",
	}}, nil
}

// join opens a session with clients and has its agent speak.
func (c *crowd) join(ctx context.Context, host *hostProcess, clients int, prompt string) error {
	raw, err := host.call(ctx, "/sessions", hostPassword, map[string]string{})
	if err != nil {
		return err
	}
	var opened struct {
		ID    string `json:"session_id"`
		Token string `json:"token"`
	}
	if err := json.Unmarshal(raw, &opened); err != nil {
		return err
	}
	for range clients {
		conn, _, err := websocket.Dial(ctx, strings.Replace(host.url, "http", "ws", 1)+"/ws/"+opened.ID+"?token="+opened.Token, nil) //nolint:bodyclose // an upgrade has none
		if err != nil {
			return err
		}
		c.conns = append(c.conns, conn)
		c.wg.Go(func() { c.follow(ctx, conn) })
	}
	input, err := json.Marshal(protocol.Line{Type: protocol.LineInput, Text: &prompt})
	if err != nil {
		return err
	}
	return c.conns[len(c.conns)-1].Write(ctx, websocket.MessageText, input)
}

// follow notes how old every chunk is when it has come.
func (c *crowd) follow(ctx context.Context, conn *websocket.Conn) {
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			return
		}
		if at := markIn(raw, partMark); c.on.Load() && at > 0 && bytes.Contains(raw, []byte(`"chunk"`)) {
			c.lines.add(time.Duration(time.Now().UnixNano() - at))
		}
	}
}

func (c *crowd) leave() {
	for _, conn := range c.conns {
		_ = conn.CloseNow()
	}
	c.wg.Wait()
}
