package headless_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellhop/agenthost/headless"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stored is a journal of one text and one question.
type stored struct{}

func (stored) Event(_ context.Context, at protocol.Cursor) (*protocol.Event, error) {
	if at != (protocol.Cursor{Epoch: 1, Seq: 5}) {
		return nil, protocol.Errorf(protocol.CodeNotFound, "no event at %v", at)
	}
	text := "the final text"
	return &protocol.Event{Type: protocol.EventText, EventID: "e5", Text: &text}, nil
}

func (stored) Question(_ context.Context, id string) (*protocol.Event, error) {
	switch id {
	case "confirm":
		return &protocol.Event{
			Kind: protocol.KindConfirm, InteractionID: id, ToolName: "rm",
			Prompt: "Run rm?", Level: "WARN", Warning: "It deletes.",
		}, nil
	case "ask":
		return &protocol.Event{
			Kind: protocol.KindAsk, InteractionID: id, Prompt: "Colour?",
			Options: []string{"red"}, Answer: &protocol.InteractionAnswer{Text: "red", By: "u1"},
		}, nil
	}
	return nil, protocol.Errorf(protocol.CodeNotFound, "no question %s", id)
}

func (stored) Input(_ context.Context, offset int64) (*protocol.Event, error) {
	if offset != 99 {
		return nil, nil //nolint:nilnil // no input is known
	}
	text := "go"
	return &protocol.Event{Type: headless.EventInput, Text: &text, Timestamp: json.RawMessage("5")}, nil
}

func clock() time.Time { return time.UnixMilli(7) }

// encoded writes lines as JSON, without the session id and the timestamp that all of them have.
func encoded(t *testing.T, lines []protocol.Line) []string {
	t.Helper()
	out := []string{}
	for _, line := range lines {
		if line.SessionID == "s" {
			line.SessionID = ""
		}
		if len(line.Timestamp) == 0 {
			t.Errorf("no timestamp: %+v", line)
		}
		line.Timestamp = nil
		raw, err := protocol.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

func want(t *testing.T, name string, got, lines []string) {
	t.Helper()
	if !slices.Equal(got, lines) {
		t.Errorf("%s\ngot  %q\nwant %q", name, got, lines)
	}
}

func TestFramesBecomeLines(t *testing.T) {
	t.Parallel()
	const (
		thinking  = `{"type":"state","state":"thinking"}`
		executing = `{"type":"state","state":"executing_tool"}`
		asked     = `{"type":"state","state":"waiting_for_input","reason":"asked"}`
	)
	lines := headless.NewLines("s", stored{}, clock)
	for _, c := range []struct {
		name, id, part string
		want           []string
	}{
		{"the first part also begins the turn", "", `{"type":"text-start","id":"b"}`, []string{thinking}},
		{
			"a delta is a chunk", "",
			`{"type":"text-delta","id":"b","text":"the text"}`,
			[]string{`{"type":"chunk","content":"the text"}`},
		},
		{
			"the journal's text wins", "1-9", `{"type":"text-end","id":"b","event":{"id":"e5","seq":5,"turnId":"t"}}`,
			[]string{
				`{"type":"message","content":"the final text","format":"markdown","metadata":{"event_id":"e5","turn_id":"t"}}`,
			},
		},
		{"a second block", "", `{"type":"text-delta","id":"c","text":"more"}`, []string{`{"type":"chunk","content":"more"}`}},
		{
			"its event is at another position by now", "1-10",
			`{"type":"text-end","id":"c","event":{"id":"e6","seq":5,"turnId":"t"}}`,
			[]string{`{"type":"message","content":"more","format":"markdown","metadata":{"event_id":"e6","turn_id":"t"}}`},
		},
		{"an end without an event", "1-11", `{"type":"text-end","id":"d"}`, nil},
		{"a resume frame", "", `{"type":"data-resume","data":{}}`, nil},
		{"reasoning has no lines", "1-12", `{"type":"reasoning-end","id":"r"}`, nil},
		{
			"a call", "1-13", `{"type":"tool-call","toolCallId":"c1","toolName":"ls","input":{"path":"."}}`,
			[]string{`{"type":"tool_start","id":"c1","name":"ls","arguments":{"path":"."}}`},
		},
		{
			"a second call changes no state", "1-14", `{"type":"tool-call","toolCallId":"c2","toolName":"rm","input":{}}`,
			[]string{`{"type":"tool_start","id":"c2","name":"rm","arguments":{}}`},
		},
		{
			"a result while a call runs", "1-15", `{"type":"tool-result","toolCallId":"c1","toolName":"ls","output":["a"]}`,
			[]string{executing, `{"type":"tool_message","content":"[\"a\"]","id":"c1","name":"ls"}`},
		},
		{
			"the last result", "1-16", `{"type":"tool-output-denied","toolCallId":"c2","toolName":"rm"}`,
			[]string{`{"type":"tool_message","content":"Denied","id":"c2","name":"rm","is_error":true}`, thinking},
		},
		{
			"a permission is read from the journal", "1-17", `{"type":"tool-approval-request","approvalId":"confirm"}`,
			[]string{
				`{"type":"confirm","request_id":"confirm","prompt":"Run rm?","tool_name":"rm","security_warning":{"level":"WARN","message":"It deletes."}}`,
				asked,
			},
		},
		{
			"a permission that expired", "1-18", `{"type":"tool-approval-response","approvalId":"confirm","reason":"expired"}`,
			[]string{
				`{"type":"resolved","by":"timeout","request_id":"confirm"}`,
				`{"type":"status","level":"warning","message":"Question confirm expired without an answer"}`, thinking,
			},
		},
		{
			"a question", "1-19", `{"type":"data-ask","id":"ask"}`,
			[]string{`{"type":"ask","metadata":{"options":["red"]},"request_id":"ask","prompt":"Colour?"}`, asked},
		},
		{
			"its answer", "1-20", `{"type":"data-answer","id":"ask","data":{"state":"resolved"}}`,
			[]string{`{"type":"resolved","by":"u1","request_id":"ask"}`, thinking},
		},
		{
			"a question that cannot be read", "1-21", `{"type":"data-ask","id":"lost"}`,
			[]string{`{"type":"status","level":"error","message":"A question of the agent cannot be read"}`},
		},
		{
			"a notice of the session", "", `{"type":"data-notice","data":{"level":"warning","message":"careful"}}`,
			[]string{`{"type":"status","level":"warning","message":"careful"}`},
		},
		{
			"a notice of the host", "", `{"type":"data-notice","data":{"level":"","message":"stopping","system":true}}`,
			[]string{`{"type":"status","level":"info","message":"stopping"}`},
		},
		{
			"a restored memory", "", `{"type":"data-context-restored","data":{"turns":3}}`,
			[]string{
				`{"type":"status","level":"info","message":"The agent goes on from the record of 3 turns: its own memory was gone"}`,
			},
		},
		{
			"an error ends the turn", "1-22", `{"type":"error","error":{"message":"out of credit"}}`,
			[]string{
				`{"type":"status","level":"error","message":"out of credit"}`,
				`{"type":"state","state":"waiting_for_input","reason":"error"}`,
			},
		},
		{
			"the next turn begins again", "1-99",
			`{"type":"text-start","id":"e"}`,
			[]string{`{"type":"input","text":"go"}`, thinking},
		},
		{
			"an interrupt", "1-24",
			`{"type":"abort"}`,
			[]string{`{"type":"state","state":"waiting_for_input","reason":"interrupted"}`},
		},
	} {
		data, err := sse.Encode(sse.Frame{ID: c.id, Event: "message", Data: []byte(c.part)})
		if err != nil {
			t.Fatal(err)
		}
		want(t, c.name, encoded(t, lines.Translate(t.Context(), data)), append([]string{}, c.want...))
	}
	want(t, "a ping", encoded(t, lines.Translate(t.Context(), []byte(": ping\n\n"))), []string{})
	want(t, "the begin of an input", encoded(t, lines.Begin()), []string{thinking})
	want(t, "the begin again", encoded(t, lines.Begin()), []string{})
}

// The order is that of stdio: a call, its question, its answer, and then the state that it runs.
func TestTheStateOfACallFollowsItsPermission(t *testing.T) {
	t.Parallel()
	translate := func(l *headless.Lines, parts ...string) (out []string) {
		for _, part := range parts {
			data, err := sse.Encode(sse.Frame{ID: "1-1", Event: "message", Data: []byte(part)})
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range l.Translate(t.Context(), data) {
				text := line.Type + " " + line.State + line.Reason
				out = append(out, strings.TrimSpace(text+" "+line.ID+line.RequestID))
			}
		}
		return out
	}
	const (
		call     = `{"type":"tool-call","toolCallId":"c1","toolName":"rm","input":{}}`
		ask      = `{"type":"tool-approval-request","approvalId":"confirm"}`
		other    = `{"type":"data-ask","id":"ask"}`
		yes      = `{"type":"tool-approval-response","approvalId":"confirm","approved":true}`
		no       = `{"type":"tool-approval-response","approvalId":"confirm","approved":false}`
		answered = `{"type":"data-answer","id":"ask","data":{"state":"resolved"}}`
		result   = `{"type":"tool-result","toolCallId":"c1","toolName":"rm","output":"x"}`
		denied   = `{"type":"tool-output-denied","toolCallId":"c1","toolName":"rm"}`
	)
	for name, c := range map[string]struct{ parts, want []string }{
		"allowed": {[]string{call, ask, yes, result}, []string{
			"state thinking", "tool_start  c1", "confirm  confirm", "state waiting_for_inputasked", "resolved  confirm",
			"state executing_tool", "tool_message  c1", "state thinking",
		}},
		"denied": {[]string{call, ask, no, denied}, []string{
			"state thinking", "tool_start  c1", "confirm  confirm", "state waiting_for_inputasked", "resolved  confirm",
			"state thinking", "tool_message  c1",
		}},
		"not asked about": {[]string{call, result}, []string{
			"state thinking", "tool_start  c1", "state executing_tool", "tool_message  c1", "state thinking",
		}},
		"two questions": {[]string{call, ask, other, yes, answered}, []string{
			"state thinking", "tool_start  c1", "confirm  confirm", "state waiting_for_inputasked", "ask  ask",
			"resolved  confirm", "resolved  ask", "state thinking",
		}},
	} {
		want(t, name, translate(headless.NewLines("s", stored{}, clock), c.parts...), c.want)
	}
	lines := headless.NewLines("s", stored{}, clock)
	if translate(lines, call); !lines.Unsettled() {
		t.Error("a call without a question is settled")
	}
	want(t, "settled", encoded(t, lines.Settle()), []string{`{"type":"state","state":"executing_tool"}`})
	want(t, "settled again", encoded(t, lines.Settle()), []string{})
	asking := headless.NewLines("s", stored{}, clock)
	if translate(asking, call, ask); asking.Unsettled() {
		t.Error("a call with an open question counts as one that may run")
	}
}

func TestEventsBecomeHistory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		event string
		want  []string
	}{
		{
			"a text", `{"type":"text","text":"hi","eventId":"e","turnId":"t"}`,
			[]string{`{"type":"message","content":"hi","format":"markdown","metadata":{"event_id":"e","turn_id":"t"}}`},
		},
		{
			"an input", `{"type":"input","text":"go","input":[{"type":"image","mediaType":"image/png"}]}`,
			[]string{`{"type":"input","text":"go","attachments":[{"type":"image","mediaType":"image/png","data":""}]}`},
		},
		{"instructions", `{"type":"instructions","text":"be kind"}`, []string{}},
		{
			"a result", `{"type":"tool-result","toolCallId":"c","toolName":"ls","output":"a","isError":true}`,
			[]string{`{"type":"tool_message","content":"a","id":"c","name":"ls","is_error":true}`},
		},
		{
			"an open question", `{"type":"interaction","kind":"ask","state":"open","interactionId":"q","prompt":"Colour?"}`,
			[]string{`{"type":"ask","request_id":"q","prompt":"Colour?"}`},
		},
		{
			"an answer", `{"type":"interaction","kind":"ask","state":"resolved","interactionId":"q","answer":{"text":"red"}}`,
			[]string{`{"type":"answer","request_id":"q","text":"red"}`},
		},
		{
			"no answer", `{"type":"interaction","kind":"ask","state":"expired","interactionId":"q"}`,
			[]string{`{"type":"status","level":"warning","message":"Question q expired without an answer"}`},
		},
		{
			"a permission that a rule gave",
			`{"type":"interaction","kind":"confirm","state":"resolved","interactionId":"q","prompt":"Run ls?","toolName":"ls","answer":{"approved":true,"reason":"policy: read-only"}}`,
			[]string{
				`{"type":"confirm","request_id":"q","prompt":"Run ls?","tool_name":"ls"}`,
				`{"type":"confirmation","request_id":"q","reason":"policy: read-only","value":true}`,
			},
		},
		{
			"an error", `{"type":"error","message":"bad key"}`,
			[]string{`{"type":"status","level":"error","message":"bad key"}`},
		},
		{
			"a finish", `{"type":"finish","finishReason":"stop"}`,
			[]string{`{"type":"state","state":"waiting_for_input","reason":"done"}`},
		},
		{
			"an interrupt", `{"type":"finish","finishReason":"other","reason":"aborted"}`,
			[]string{`{"type":"state","state":"waiting_for_input","reason":"interrupted"}`},
		},
		{
			"a restart", `{"type":"finish","finishReason":"other","reason":"host-restarted"}`,
			[]string{`{"type":"state","state":"waiting_for_input","reason":"error"}`},
		},
		{"a status", `{"type":"status","status":"busy"}`, []string{}},
	} {
		var e protocol.Event
		if err := json.Unmarshal([]byte(c.event), &e); err != nil {
			t.Fatal(err)
		}
		e.Timestamp = json.RawMessage("1")
		want(t, c.name, encoded(t, headless.History("s", &e)), c.want)
	}
}

func TestRepliesFitTheirQuestion(t *testing.T) {
	t.Parallel()
	text, yes := "red", true
	for _, c := range []struct {
		name string
		line protocol.Line
		kind protocol.InteractionKind
		want string // of the error
	}{
		{"an answer", protocol.Line{Type: protocol.LineAnswer, Text: &text}, protocol.KindAsk, ""},
		{
			"a confirmation",
			protocol.Line{Type: protocol.LineConfirmation, Value: &yes, Remember: protocol.RememberSession},
			protocol.KindConfirm, "",
		},
		{
			"an answer to a permission",
			protocol.Line{Type: protocol.LineAnswer, RequestID: "q", Text: &text},
			protocol.KindConfirm, `Question q is answered by type "confirmation"`,
		},
		{"no text", protocol.Line{Type: protocol.LineAnswer}, protocol.KindAsk, "An answer needs text"},
		{"no value", protocol.Line{Type: protocol.LineConfirmation}, protocol.KindConfirm, "A confirmation needs value"},
		{
			"another time to remember",
			protocol.Line{Type: protocol.LineConfirmation, Value: &yes, Remember: "forever"},
			protocol.KindConfirm, `remember must be "session" or absent`,
		},
	} {
		req, err := headless.ParseReply(&c.line, c.kind)
		if c.want == "" {
			if err != nil || req.Approved != c.line.Value || req.Remember != c.line.Remember ||
				c.line.Text != nil && req.Text != text {
				t.Errorf("%s: %+v, %v", c.name, req, err)
			}
			continue
		}
		if protocol.CodeOf(err) != protocol.CodeInvalid || err.Error() != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
