package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
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
	written := 1 / timeOf(span, func() { check(w.Write(line)) }).Seconds()
	read := 1000 / timeOf(span, func() { readLines(stream, 1000) }).Seconds()
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

// readLines reads and parses n lines.
func readLines(stream []byte, n int) {
	lines := jsonlines.NewReader(bytes.NewReader(stream), protocol.MaxLine)
	for range n {
		must(protocol.ParseLine(must(lines.Next())))
	}
}

// lineClients measures WebSocket clients in this process.
func (r *run) lineClients() row {
	host, clients := r.host(r.dir()), r.readers()
	alone := host.footprint()
	for range r.scale.sessions {
		clients.join(host, r.scale.readers/2/r.scale.sessions, fmt.Sprintf("pace %s 100", r.scale.every))
	}
	clients.warmUp()
	s := clients.measure(2 * r.scale.round).parts.spread()
	live, _, goroutines := host.footprint().per(clients.count, alone)
	return row{
		what: fmt.Sprintf("line → WebSocket client: %d clients on %d sessions, a line every %s in each",
			clients.count, r.scale.sessions, r.scale.every),
		figure: fmt.Sprintf("%s, longest %s; %.0f lines/s delivered; %s live and %.2f goroutines a client",
			s, brief(s.Max), float64(s.Count)/(2*r.scale.round).Seconds(), live, goroutines),
		bound: "CPU, which host and clients share: a write and a read of a socket, and the client's JSON, for every line " +
			"and client",
	}
}

// join opens a session with n clients and starts its agent's turn.
func (r *readers) join(host *hostProcess, n int, prompt string) {
	var opened struct {
		ID    string `json:"session_id"`
		Token string `json:"token"`
	}
	check(json.Unmarshal(host.call(r.ctx, "/sessions", hostPassword, map[string]string{}), &opened))
	url := strings.Replace(host.url, "http", "ws", 1) + "/ws/" + opened.ID + "?token=" + opened.Token
	for i := range n {
		conn, _, err := websocket.Dial(r.ctx, url, nil) //nolint:bodyclose // an upgrade has none
		check(err)
		r.follow(conn.CloseNow, func() (raw []byte, err error) {
			for err == nil && !bytes.Contains(raw, []byte(`"chunk"`)) {
				_, raw, err = conn.Read(r.ctx)
			}
			return raw, err
		})
		if i == n-1 {
			input := must(json.Marshal(protocol.Line{Type: protocol.LineInput, Text: &prompt}))
			check(conn.Write(r.ctx, websocket.MessageText, input))
		}
	}
	r.count += n
}
