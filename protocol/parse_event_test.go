package protocol_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"bellhop/protocol"
)

// event builds a valid event of a type and changes it: a nil value removes a
// member.
func event(kind string, changes map[string]any) string {
	members := map[string]any{"sessionId": "s1", "type": kind, "timestamp": 1700000000000}
	required := map[string]map[string]any{
		"text":        {"id": "text-1", "text": "hi"},
		"tool-call":   {"toolCallId": "c1", "toolName": "ls", "input": map[string]any{}},
		"tool-result": {"toolCallId": "c1", "toolName": "ls", "output": "x"},
		"finish":      {"finishReason": "stop"},
		"status":      {"status": "busy"},
		"interaction": {"interactionId": "i1", "state": "open", "kind": "confirm", "prompt": "May I?"},
		"error":       {"message": "boom"},
		"dropped":     {"reason": "too large"},
	}
	for name, value := range required[kind] {
		members[name] = value
	}
	for name, value := range changes {
		if members[name] = value; value == nil {
			delete(members, name)
		}
	}
	raw, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestParseEventAcceptsEveryType(t *testing.T) {
	t.Parallel()
	null := json.RawMessage("null")
	cases := []struct {
		name, kind string
		changes    map[string]any
	}{
		{"text", "text", nil},
		{"empty text", "text", map[string]any{"text": ""}},
		{"tool call", "tool-call", nil},
		{"tool call with null input", "tool-call", map[string]any{"input": null}},
		{"tool result", "tool-result", map[string]any{"isError": true, "denied": false, "truncated": true}},
		{"tool result with null output", "tool-result", map[string]any{"output": null}},
		{"tool result whose output is undefined", "tool-result", map[string]any{"output": nil}},
		{"denied tool result without output", "tool-result", map[string]any{"output": nil, "denied": true}},
		{"finish with usage", "finish", map[string]any{"totalUsage": map[string]any{"x": 1}, "reason": "aborted"}},
		{"status none", "status", map[string]any{"status": "none"}},
		{
			"open ask", "interaction",
			map[string]any{"kind": "ask", "options": []string{"a"}, "expiresAt": "2026-01-02T03:04:05Z"},
		},
		{
			"resolved confirm without prompt", "interaction",
			map[string]any{"state": "resolved", "prompt": nil, "answer": map[string]any{"approved": false}},
		},
		{"error with code", "error", map[string]any{"code": "rate_limit"}},
		{"dropped", "dropped", nil},
		{
			"unknown type with members of other shapes", "reasoning",
			map[string]any{"id": 5, "text": []int{1}, "status": map[string]any{}, "timestamp": nil},
		},
		{
			"members of other types, whatever they are", "text",
			map[string]any{"message": 1, "options": "x", "answer": 2, "status": false, "code": 500},
		},
		{
			"optional members that are null", "tool-result",
			map[string]any{"isError": null, "eventId": null, "epoch": null, "seq": null, "turnId": null},
		},
		{"an id of 512 bytes", "text", map[string]any{"id": strings.Repeat("x", 512)}},
		{"an id with any characters", "text", map[string]any{"id": "a/b c\nä"}},
		{
			"an eventId of 128 characters", "text",
			map[string]any{"eventId": strings.Repeat("aZ09_:.-", 16), "epoch": 1, "seq": 9007199254740991},
		},
		{"a fractional timestamp", "text", map[string]any{"timestamp": json.RawMessage("1.5e3")}},
		{"no sessionId, as inside a batch", "text", map[string]any{"sessionId": nil}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := protocol.ParseEvent([]byte(event(c.kind, c.changes))); err != nil {
				t.Fatalf("refused: %v", err)
			}
		})
	}
}

func TestParseEventRefuses(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	type m = map[string]any
	cases := []struct {
		name, kind string
		changes    m
		message    string
	}{
		{"no type", "text", m{"type": nil}, "type is required"},
		{"a number as type", "text", m{"type": 1}, "type must be a string"},
		{"a type over 128 bytes", strings.Repeat("x", 129), nil, "type is longer than 128 bytes"},
		{"a number as sessionId", "text", m{"sessionId": 1}, "sessionId must be a string"},
		{"no timestamp", "text", m{"timestamp": nil}, "timestamp is required"},
		{"a string as timestamp", "status", m{"timestamp": "2026-01-01T00:00:00Z"}, "timestamp must be a number"},
		{"a null timestamp", "finish", m{"timestamp": raw("null")}, "timestamp is required"},
		{"a string as timestamp of an unknown type", "later", m{"timestamp": "x"}, "timestamp must be a number"},
		{"an empty eventId", "text", m{"eventId": ""}, "eventId must be 1–128 characters of A-Z a-z 0-9 _ : . -"},
		{
			"an eventId of 129 characters", "text",
			m{"eventId": strings.Repeat("x", 129)},
			"eventId must be 1–128 characters of A-Z a-z 0-9 _ : . -",
		},
		{"an eventId with a slash", "text", m{"eventId": "a/b"}, "eventId must be 1–128 characters of A-Z a-z 0-9 _ : . -"},
		{
			"an eventId with a line feed at its end", "text",
			m{"eventId": "ab\n"},
			"eventId must be 1–128 characters of A-Z a-z 0-9 _ : . -",
		},
		{"epoch without seq", "text", m{"epoch": 1}, "epoch and seq come together or not at all"},
		{"seq without epoch", "later", m{"seq": 1}, "epoch and seq come together or not at all"},
		{"epoch 0", "text", m{"epoch": 0, "seq": 1}, "epoch must be an integer from 1"},
		{"epoch over 2^53-1", "text", m{"epoch": 1 << 53, "seq": 1}, "epoch must be at most 9007199254740991"},
		{"seq over 2^53-1", "text", m{"epoch": 1, "seq": int64(1 << 62)}, "seq must be at most 9007199254740991"},
		{"seq −1", "text", m{"epoch": 1, "seq": -1}, "seq must be an integer from 1"},
		{"seq −0", "text", m{"epoch": 1, "seq": raw("-0")}, "seq must be an integer"},
		{"seq 1e400", "text", m{"epoch": 1, "seq": raw("1e400")}, "seq must be an integer"},
		{"seq 2^63", "text", m{"epoch": 1, "seq": raw("9223372036854775808")}, "seq must be an integer"},
		{"seq 1.0", "text", m{"epoch": 1, "seq": raw("1.0")}, "seq must be an integer"},
		{"a string as seq", "text", m{"epoch": 1, "seq": "1"}, "seq must be an integer"},
		{"a turnId over 128 bytes", "text", m{"turnId": strings.Repeat("x", 129)}, "turnId is longer than 128 bytes"},
		{"text without id", "text", m{"id": nil}, "id is required"},
		{"text with an empty id", "text", m{"id": ""}, "id is required"},
		{"an id over 512 bytes", "text", m{"id": strings.Repeat("x", 513)}, "id is longer than 512 bytes"},
		{"text without text", "text", m{"text": nil}, "text is required"},
		{"null as text", "text", m{"text": raw("null")}, "text is required"},
		{"a number as text", "text", m{"text": 5}, "text must be a string"},
		{"a call without toolCallId", "tool-call", m{"toolCallId": nil}, "toolCallId is required"},
		{"a call without toolName", "tool-call", m{"toolName": ""}, "toolName is required"},
		{"a call without input", "tool-call", m{"input": nil}, "input is required"},
		{"a string as isError", "tool-result", m{"isError": "true"}, "isError must be a boolean"},
		{"a number as denied", "tool-result", m{"denied": 1}, "denied must be a boolean"},
		{"a finish without reason", "finish", m{"finishReason": nil}, "finishReason is required"},
		{
			"an unknown finishReason", "finish",
			m{"finishReason": "aborted"},
			"finishReason must be one of stop, length, content-filter, tool-calls, error, other",
		},
		{"an unknown status", "status", m{"status": "BUSY"}, "status must be one of none, idle, busy"},
		{"an unknown state", "interaction", m{"state": "closed"}, "state must be one of open, resolved, expired"},
		{"an unknown kind", "interaction", m{"kind": "prompt"}, "kind must be one of confirm, ask"},
		{"an open question without prompt", "interaction", m{"prompt": nil}, "prompt is required"},
		{"an interaction without id", "interaction", m{"interactionId": nil}, "interactionId is required"},
		{"a number among options", "interaction", m{"options": []any{"a", 1}}, "options.1 must be a string"},
		{"a string as answer", "interaction", m{"answer": "yes"}, "answer must be an object"},
		{"a string as approved", "interaction", m{"answer": m{"approved": "yes"}}, "answer.approved must be a boolean"},
		{"expiresAt in another form", "interaction", m{"expiresAt": "tomorrow"}, "expiresAt must be an RFC 3339 time"},
		{"an error without message", "error", m{"message": nil}, "message is required"},
		{"dropped without reason", "dropped", m{"reason": nil}, "reason is required"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := protocol.ParseEvent([]byte(event(c.kind, c.changes)))
			requireInvalid(t, err)
			var e *protocol.Error
			if errors.As(err, &e); e.Message != c.message {
				t.Fatalf("message %q, want %q", e.Message, c.message)
			}
		})
	}
}

func TestParseEventReadsEveryMember(t *testing.T) {
	t.Parallel()
	raw := `{"sessionId":"s","type":"tool-result","eventId":"e","epoch":2,"seq":3,"turnId":"t","timestamp":1.50,
		"toolCallId":"c","toolName":"n","output":{"b":1, "a":2.0},"isError":true,"denied":true,"truncated":true}`
	got, err := protocol.ParseEvent([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	want := &protocol.Event{
		SessionID: "s", Type: protocol.EventToolResult, EventID: "e", Epoch: 2, Seq: 3, TurnID: "t",
		Timestamp: json.RawMessage("1.50"), ToolCallID: "c", ToolName: "n", Output: json.RawMessage(`{"b":1, "a":2.0}`),
		IsError: true, Denied: true, Truncated: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v\nwant %+v", got, want)
	}
}

// The broker must accept the events that our own host marshals.
func TestMarshalledEventsParse(t *testing.T) {
	t.Parallel()
	text, approved := "", false
	events := []*protocol.Event{
		{Type: protocol.EventText, ID: "x", Text: &text},
		{Type: protocol.EventToolCall, ToolCallID: "c", ToolName: "n", Input: json.RawMessage("null")},
		{Type: protocol.EventToolResult, ToolCallID: "c", ToolName: "n", Denied: true},
		{Type: protocol.EventFinish, FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted},
		{
			Type: protocol.EventInteraction, InteractionID: "i", State: protocol.InteractionResolved, Kind: protocol.KindConfirm,
			Answer: &protocol.InteractionAnswer{Approved: &approved, Reason: "interrupted"},
		},
	}
	for _, e := range events {
		e.SessionID, e.EventID, e.Epoch, e.Seq, e.Timestamp = "s", "e:1", 1, 1, json.RawMessage("1")
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := protocol.ParseEvent(raw); err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
}

func TestTheOnlyOriginIsTheTerminal(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`"terminal"`: protocol.OriginTerminal, `"Terminal"`: "", `"console"`: "", `""`: "", `7`: "", `null`: "",
		`{"a":1}`: "", `"` + strings.Repeat("terminal", 10_000) + `"`: "",
	} {
		e, err := protocol.ParseEvent([]byte(`{"type":"text","sessionId":"s","id":"a","text":"x","timestamp":1,"origin":` +
			raw + `}`))
		if err != nil || e.Origin != want {
			t.Errorf("%.40s: %+v, %v", raw, e, err)
		}
	}
}
