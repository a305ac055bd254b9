package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"bellhop/internal/jsonlines"
	"bellhop/protocol"
)

// headless measures the codec of lines in this process, and WebSocket clients of a
// host in another process.
func headless(r *run) []row { return append(codec(r.scale.round), r.lineClients()) }

func codec(span time.Duration) []row {
	text := "a few words of an answer "
	line := protocol.Line{Type: protocol.LineChunk, SessionID: protocol.NewID(), Content: &text}
	w, raw := jsonlines.NewWriter(io.Discard), must(json.Marshal(line))
	stream := bytes.Repeat(append(raw, '\n'), 1000)
	written := perSecond(span, 1, func() { check(w.Write(line)) })
	read := perSecond(span, 1000, func() { readLines(stream, 1000) })
	large := []byte(`{"type":"input","attachments":[{"type":"image","data":"` + strings.Repeat("A", 4<<20) + "\"}]}\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	readLines(large, 1)
	runtime.ReadMemStats(&after)
	return []row{{
		what:   fmt.Sprintf("lines of stdio: a chunk of %d bytes", len(raw)),
		figure: fmt.Sprintf("%.0f written, %.0f read and checked, a second", written, read),
		bound:  "one core: JSON, and for reading the check for duplicate members and depth",
	}, {
		what:   "memory for a line of 4 MiB, read and parsed",
		figure: kib(float64(after.TotalAlloc-before.TotalAlloc)) + " allocated in all",
		bound:  "the line's buffer doubles as it grows; the parsed value is a copy",
	}}
}

// perSecond repeats f, which does n things, for a span, and returns things per
// second.
func perSecond(span time.Duration, n int, f func()) float64 {
	done, start := 0, time.Now()
	for ; time.Since(start) < span; done += n {
		f()
	}
	return float64(done) / time.Since(start).Seconds()
}

// readLines reads and parses n lines.
func readLines(stream []byte, n int) {
	lines := jsonlines.NewReader(bytes.NewReader(stream), protocol.MaxLine)
	for range n {
		must(protocol.ParseLine(must(lines.Next())))
	}
}

// clients holds the WebSocket clients of a host, in this process.
type clients struct {
	conns []*websocket.Conn
	wg    sync.WaitGroup
	on    atomic.Bool
	lines samples
}

func (r *run) lineClients() row {
	host, c := r.host(r.dir()), &clients{}
	r.onClose(c.close)
	alone := host.footprint()
	for range r.scale.sessions {
		c.join(r.ctx, host, r.scale.readers/2/r.scale.sessions, fmt.Sprintf("pace %s 100", r.scale.every))
	}
	c.on.Store(true)
	span(r.ctx, 2*r.scale.round)
	c.on.Store(false)
	live, _, goroutines := host.footprint().per(len(c.conns), alone)
	s := c.lines.spread()
	return row{
		what: fmt.Sprintf("line → WebSocket client: %d clients on %d sessions, a line every %s in each",
			len(c.conns), r.scale.sessions, r.scale.every),
		figure: fmt.Sprintf("%s; %.0f lines/s delivered; %s live and %.2f goroutines a client",
			spreads{s}.longest(), float64(s.Count)/(2*r.scale.round).Seconds(), live, goroutines),
		bound: "CPU, which host and clients share: a write and a read of a socket, and the client's JSON, for every line " +
			"and client",
	}
}

// join opens a session with clients and starts its agent's turn.
func (c *clients) join(ctx context.Context, host *hostProcess, n int, prompt string) {
	var opened struct {
		ID    string `json:"session_id"`
		Token string `json:"token"`
	}
	check(json.Unmarshal(host.call(ctx, "/sessions", hostPassword, map[string]string{}), &opened))
	url := strings.Replace(host.url, "http", "ws", 1) + "/ws/" + opened.ID + "?token=" + opened.Token
	for range n {
		conn, _, err := websocket.Dial(ctx, url, nil) //nolint:bodyclose // an upgrade has none
		check(err)
		c.conns = append(c.conns, conn)
		c.wg.Go(func() { c.follow(ctx, conn) })
	}
	input := must(json.Marshal(protocol.Line{Type: protocol.LineInput, Text: &prompt}))
	check(last(c.conns).Write(ctx, websocket.MessageText, input))
}

// follow records the age of every chunk when it is read.
func (c *clients) follow(ctx context.Context, conn *websocket.Conn) {
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

func (c *clients) close() error {
	for _, conn := range c.conns {
		_ = conn.CloseNow()
	}
	c.wg.Wait()
	return nil
}
