package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// isolatedSession is a session whose agent sends only the session's mark, with all
// data that its readers received.
type isolatedSession struct {
	id, token, mark string

	mu   sync.Mutex
	seen []string // all received data
}

func (s *isolatedSession) record(raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, raw)
}

// script returns a turn with every kind of part, all with the mark.
func (s *isolatedSession) script(rng *rand.Rand) string {
	steps := []string{
		"text " + s.mark + " speaks", "tool shell {\"command\":\"" + s.mark + "\"}",
		"toolerr shell {\"command\":\"" + s.mark + "\"}", "notice warning " + s.mark + " notices", "ask " + s.mark + "?",
		"confirm write {\"path\":\"" + s.mark + "\"}", "reason " + s.mark + " thinks",
	}
	rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	steps = append([]string{"agent-session " + s.mark}, steps[:3+rng.IntN(len(steps)-3)]...)
	if rng.IntN(4) == 0 {
		steps = append(steps, "fail "+s.mark+" failed")
	}
	return strings.Join(steps, "\n")
}

// Many clients of many sessions connect, disconnect, read, answer and try ids of other
// sessions in random order. Each client receives only data of its own session.
func TestNoClientEverSeesAnotherSessionsEvents(t *testing.T) {
	t.Parallel()
	const sessions, clients, rounds = 6, 3, 4
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	h := newHost(t, nil)
	all := make([]*isolatedSession, sessions)
	for i := range all {
		// All sessions of an agent program have the same request and call ids.
		id, token := h.headless([]string{"", `{"agent":"program"}`}[i%2])
		all[i] = &isolatedSession{id: id, token: token, mark: fmt.Sprintf("canary%dx", i)}
	}
	var group sync.WaitGroup
	for i, s := range all {
		for n := range clients {
			rng := rand.New(rand.NewPCG(seed, uint64(i*clients+n)))
			group.Go(func() {
				for range rounds {
					h.runClient(s, all[rng.IntN(sessions)], rng)
				}
			})
		}
	}
	group.Wait()
	for _, s := range all {
		_, _, history := h.call(request{"GET", "/sessions/" + s.id + "/history", "", []string{bearerPassword}})
		_, _, events := h.call(request{"GET", "/session/" + s.id + "/events", "", []string{bearerPassword}})
		s.seen = append(s.seen, history, events)
		everything := strings.Join(s.seen, "\n")
		if !strings.Contains(everything, s.mark) {
			t.Errorf("%s has seen nothing of its own", s.mark)
		}
		for _, other := range all {
			if other != s && (strings.Contains(everything, other.mark) || strings.Contains(everything, other.id)) {
				t.Errorf("a client of %s has seen something of %s", s.mark, other.mark)
			}
		}
	}
	_, _, status := h.call(request{"GET", "/status", "", []string{bearerPassword}})
	_, _, list := h.call(request{"GET", "/sessions", "", []string{bearerPassword}})
	for _, s := range all {
		for what, text := range map[string]string{"the log": h.log.String(), "/status": status, "/sessions": list} {
			if strings.Contains(text, s.mark) || strings.Contains(text, s.token) {
				t.Errorf("%s contains texts of %s, or its token", what, s.mark)
			}
		}
	}
}

// runClient reads lines or the stream, sometimes starts a turn, answers questions,
// tries another session's id, and disconnects at a random moment.
func (h *host) runClient(s, other *isolatedSession, rng *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	defer cancel()
	if rng.IntN(3) == 0 {
		h.readStream(ctx, s, rng)
		return
	}
	conn, resp, err := websocket.Dial(ctx, strings.Replace(h.url, "http", "ws", 1)+"/ws/"+s.id+"?token="+s.token, nil)
	if err != nil {
		h.t.Errorf("dial: %v", err)
		return
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	defer func() { _ = conn.CloseNow() }()
	send := func(line map[string]any) {
		raw, _ := json.Marshal(line)
		_ = conn.Write(ctx, websocket.MessageText, raw) // a refusal arrives as a line or close code
	}
	send(map[string]any{"type": "input", "text": s.script(rng)})
	if other != s {
		// The host refuses this without information about other sessions.
		send(map[string]any{"type": "interrupt", "session_id": s.id + "x"})
	}
	for left := 5 + rng.IntN(40); left > 0; left-- {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			h.t.Errorf("%s was cut: %v", s.mark, err)
			return
		}
		s.record(string(raw))
		line, err := protocol.ParseLine(raw)
		switch {
		case err != nil:
			h.t.Errorf("line %s: %v", raw, err)
		case line.SessionID != s.id:
			h.t.Errorf("%s was sent a line of %q", s.mark, line.SessionID)
		case line.Type == protocol.LineAsk:
			send(map[string]any{"type": "answer", "request_id": line.RequestID, "text": s.mark})
		case line.Type == protocol.LineConfirm:
			send(map[string]any{"type": "confirmation", "request_id": line.RequestID, "value": rng.IntN(2) == 0})
		case line.EndsTurn():
			return
		}
		if rng.IntN(30) == 0 {
			send(map[string]any{"type": "interrupt"})
		}
	}
}

func (h *host) readStream(ctx context.Context, s *isolatedSession, rng *rand.Rand) {
	resp := h.do(ctx, request{"GET", "/stream/" + s.id + "?token=" + s.token, "", nil})
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNoContent {
		return
	}
	reader := sse.NewReader(resp.Body)
	for left := 3 + rng.IntN(20); left > 0; left-- {
		frame, err := reader.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				h.t.Errorf("%s: stream: %v", s.mark, err)
			}
			return
		}
		s.record(string(frame.Data))
		var p protocol.Part
		_ = json.Unmarshal(frame.Data, &p) // frames that are not parts are already recorded
		switch p.Type {
		case protocol.PartToolApprovalRequest:
			h.call(request{
				"POST", "/session/" + s.id + "/interactions/" + p.ApprovalID + "?token=" + s.token, `{"approved":true}`, nil,
			})
		case protocol.PartDataAsk:
			h.call(request{
				"POST", "/session/" + s.id + "/interactions/" + p.ID + "?token=" + s.token, `{"text":"` + s.mark + `"}`, nil,
			})
		}
	}
}
