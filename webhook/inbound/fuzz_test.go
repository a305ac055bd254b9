package inbound_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"bellhop/protocol"
)

// FuzzBody posts bodies with a valid token. For every body, the response is one of the
// protocol's table, errors have the one shape, and an event that reaches the domain belongs to
// this task, parses again and can be stored as text.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		text,
		`{"sessionId":"task-1","events":[` + text +
			`,{"type":"finish","finishReason":"stop","timestamp":2,"eventId":"e:1","epoch":1,"seq":2,"turnId":"t"}]}`,
		`{"sessionId":"task-1","type":"tool-call","toolCallId":"c","toolName":"ls","input":{"a":[1e3,-0.0]},"timestamp":1.5}`,
		`{"sessionId":"task-1","type":"interaction","interactionId":"i","state":"open","kind":"ask","prompt":"?","timestamp":1}`,
		`{"sessionId":"task-1","type":"later","events":{}}`,
		`{"sessionId":"task-1","events":[]}`,
		`{"sessionId":"task-1","events":[{}]}`,
		`[]`, `null`, `"x"`, ``, `{"a":"\u0000"}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a":1,"a":2}`,
		strings.Repeat(`[`, 70),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s := newSite(t)
		got := s.send(string(body))
		switch got.Code {
		case 200:
			if len(s.fakeDomain.events) == 0 {
				t.Fatalf("200 and no event: %s", got.Body)
			}
		case 400, 413:
			var shape protocol.ErrorBody
			if err := json.Unmarshal(got.Body.Bytes(), &shape); err != nil || shape.Error == "" || shape.Code == "" {
				t.Fatalf("not the error shape: %s", got.Body)
			}
			if len(s.fakeDomain.events) != 0 {
				t.Fatalf("%d, and events were taken", got.Code)
			}
		default:
			t.Fatalf("%d %s", got.Code, got.Body)
		}
		for _, e := range s.fakeDomain.events {
			if _, err := protocol.ParseEvent(e.Raw); err != nil {
				t.Errorf("an event that cannot be read again: %v", err)
			}
			if e.Event.SessionID != "" && e.Event.SessionID != taskID {
				t.Errorf("an event of session %q", e.Event.SessionID)
			}
			if !utf8.Valid(e.Raw) || strings.Contains(string(e.Raw), `\u0000`) && !strings.Contains(string(e.Raw), `\\u0000`) {
				t.Errorf("text that cannot be stored: %q", e.Raw)
			}
		}
	})
}
