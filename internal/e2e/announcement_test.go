//go:build full

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// headlessLines opens a session on the host and returns a function that reads its next status line.
func (s *stack) headlessLines() func() protocol.Line {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.host.url+"/sessions",
		bytes.NewReader([]byte("{}")))
	testenv.Must(s.t, err)
	req.Header.Set("Authorization", "Bearer "+hostPassword)
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	testenv.Must(s.t, err)
	var session struct {
		ID    string `json:"session_id"`
		Token string `json:"token"`
	}
	testenv.Must(s.t, json.NewDecoder(resp.Body).Decode(&session))
	_ = resp.Body.Close()
	conn, _, err := websocket.Dial(s.t.Context(), s.host.url+"/ws/"+session.ID+"?token="+session.Token, nil)
	testenv.Must(s.t, err)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return func() protocol.Line {
		s.t.Helper()
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		defer cancel()
		for {
			_, raw, err := conn.Read(ctx)
			testenv.Must(s.t, err)
			var line protocol.Line
			testenv.Must(s.t, json.Unmarshal(raw, &line))
			if line.Type == protocol.LineStatus {
				return line
			}
		}
	}
}

// An announcement reaches the headless clients of the broker's host, also after kill -9 of the
// broker and of the host, until it is taken back.
func TestAnAnnouncementReachesHeadlessClientsAcrossRestarts(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	env := []string{"BELLHOP_URL=" + s.api, "BELLHOP_TOKEN=" + s.token}
	first := s.headlessLines()
	id := strings.TrimSpace(run(t, env, "announce", "--level", "warning", "--for", "1h", "Restart at noon"))
	if line := first(); line.Message != "Restart at noon" || line.Level != "warning" || line.SessionID != "" {
		t.Errorf("the first client got %+v", line)
	}
	s.broker.kill()
	s.host.kill()
	s.host.start()
	second := s.headlessLines() // the host has forgotten the announcement
	s.broker.start()
	if line := second(); line.Message != "Restart at noon" {
		t.Errorf("after the restarts: %+v", line)
	}
	if list := run(t, env, "announce"); !strings.Contains(list, id) || !strings.Contains(list, "Restart at noon") {
		t.Errorf("listed %s", list)
	}
	run(t, env, "announce", "--cancel", id)
	if line := second(); line.Message != "Taken back: Restart at noon" {
		t.Errorf("after it was taken back: %+v", line)
	}
	if list := run(t, env, "announce", "--json"); strings.Contains(list, id) {
		t.Errorf("still listed: %s", list)
	}
}
