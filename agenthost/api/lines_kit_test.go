package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"bellhop/protocol"
)

// headless opens a session without a broker.
func (h *host) headless(body string) (id, token string) {
	h.t.Helper()
	status, _, answer := h.call(request{"POST", "/sessions", body, []string{bearerPassword}})
	var opened struct {
		SessionID string `json:"session_id"`
		Token     string `json:"token"`
	}
	if err := json.Unmarshal([]byte(answer), &opened); err != nil || status != http.StatusCreated || opened.Token == "" {
		h.t.Fatalf("open: %d %s", status, answer)
	}
	return opened.SessionID, opened.Token
}

// lineReader is a WebSocket client of a session.
type lineReader struct {
	t    *testing.T
	conn *websocket.Conn
	ctx  context.Context
	seen []protocol.Line

	tools []string // of the hello line
}

func (h *host) watch(session, token string) *lineReader {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	h.t.Cleanup(cancel)
	conn, resp, err := websocket.Dial(ctx, strings.Replace(h.url, "http", "ws", 1)+"/ws/"+session+"?token="+token, nil)
	if err != nil {
		h.t.Fatalf("dial: %v", err)
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	conn.SetReadLimit(64 << 20)
	h.t.Cleanup(func() { _ = conn.CloseNow() })
	r := &lineReader{t: h.t, conn: conn, ctx: ctx}
	if line := r.next(); line.Type != protocol.LineHello || line.SessionID != session || line.Version != "v9" {
		h.t.Fatalf("the first line is %+v", line)
	}
	r.tools, r.seen = r.seen[0].Tools, nil
	return r
}

func (r *lineReader) send(raw string) {
	r.t.Helper()
	if err := r.conn.Write(r.ctx, websocket.MessageText, []byte(raw)); err != nil {
		r.t.Fatalf("send %s: %v", raw, err)
	}
}

func (r *lineReader) next() protocol.Line {
	r.t.Helper()
	_, raw, err := r.conn.Read(r.ctx)
	if err != nil {
		r.t.Fatalf("read: %v after %s", err, r)
	}
	line, err := protocol.ParseLine(raw)
	if err != nil {
		r.t.Fatalf("line %s: %v", raw, err)
	}
	if len(line.Timestamp) == 0 && line.Type != protocol.LineChunk { // chunks that were joined have none
		r.t.Errorf("no timestamp: %s", raw)
	}
	r.seen = append(r.seen, *line)
	return *line
}

// readUntil reads up to a line of the given type, or to a state line of that state. A turn that
// waits for an answer continues.
func (r *lineReader) readUntil(kind string) protocol.Line {
	r.t.Helper()
	for {
		if line := r.next(); line.Type == kind || line.State == kind && line.Reason != protocol.WaitingAsked {
			return line
		}
	}
}

// readToClose reads to the end of the connection and returns the close code.
func (r *lineReader) readToClose() websocket.StatusCode {
	r.t.Helper()
	for {
		if _, _, err := r.conn.Read(r.ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// String returns the outline of all lines that were read.
func (r *lineReader) String() string { return strings.Join(outline(r.seen), " ") }

// outline shortens lines: it removes ids and joins adjacent chunks.
func outline(lines []protocol.Line) []string {
	var out []string
	for _, l := range lines {
		text := l.Type
		switch l.Type {
		case protocol.LineState:
			text += ":" + l.State + strings.TrimSuffix(":"+l.Reason, ":")
		case protocol.LineMessage, protocol.LineToolMessage:
			text += ":" + *l.Content
		case protocol.LineStatus:
			text += ":" + l.Level + ":" + l.Message
		case protocol.LineInput:
			text += ":" + *l.Text
		}
		if l.Type == protocol.LineChunk && len(out) > 0 && out[len(out)-1] == text {
			continue
		}
		out = append(out, text)
	}
	return out
}

func (r *lineReader) expect(outlined ...string) {
	r.t.Helper()
	if got := outline(r.seen); !slices.Equal(got, outlined) {
		r.t.Errorf("got  %q\nwant %q", got, outlined)
	}
}
