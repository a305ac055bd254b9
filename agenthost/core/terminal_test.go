package core_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

func terminalItems() []core.TerminalItem {
	return []core.TerminalItem{
		{Call: &core.ToolCall{ID: "c1", Name: "write", Input: json.RawMessage(`{"path":"a"}`)}, At: start},
		{Result: &core.ToolResult{ID: "c1", Output: json.RawMessage(`"ok"`)}, At: start},
		{Result: &core.ToolResult{ID: "c1", Output: json.RawMessage(`"again"`)}, At: start},
		{Result: &core.ToolResult{ID: "unknown"}, At: start},
		{Text: "done", At: start},
	}
}

func TestATurnOfATerminalIsJournaledInOneStep(t *testing.T) {
	t.Parallel()
	r := opened(t).then(finishedTurn("t1")...).then(core.IncarnationSeen{ID: "i1"})
	before := r.state.Record.Cursor
	x := r.do(core.TerminalWorked{TurnID: "tui-1", Prompt: "write a", Items: terminalItems()})
	var types []string
	for i := range x.Rows.Events {
		e, err := x.Rows.Events[i].Event()
		if err != nil || e.Origin != protocol.OriginTerminal || e.TurnID != "tui-1" || len(x.Rows.Events[i].Part) > 0 {
			t.Errorf("%+v, %v", e, err)
		}
		types = append(types, string(e.Type))
	}
	if got := strings.Join(types, " "); got != "tool-call tool-result text finish" {
		t.Errorf("events: %s", got)
	}
	want := core.PromptRecord{SessionID: "s1", TurnID: "tui-1", Text: "write a"}
	if len(x.Rows.Prompts) != 1 || x.Rows.Prompts[0] != want {
		t.Errorf("prompts %+v", x.Rows.Prompts)
	}
	if row := x.Rows.Turns[0]; row.State != core.TurnFinished || !row.Started.IsZero() ||
		row.FinishReason != protocol.FinishStop {
		t.Errorf("turn %+v", row)
	}
	if len(x.Frames) > 0 || r.state.Record.Resend.Seq != before.Seq+1 {
		t.Errorf("%d frames, the prompt goes with %v after %v", len(x.Frames), r.state.Record.Resend, before)
	}
}

func TestALongTextOfATerminalIsSeveralEvents(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("wörter ", 10_000)
	x := opened(t).do(core.TerminalWorked{TurnID: "tui-1", Items: []core.TerminalItem{{Text: text, At: start}}})
	complete := ""
	for i := range x.Rows.Events {
		if e, _ := x.Rows.Events[i].Event(); e.Text != nil {
			complete += *e.Text
		}
	}
	if complete != text || len(x.Rows.Events) < 3 {
		t.Errorf("%d of %d bytes in %d events", len(complete), len(text), len(x.Rows.Events))
	}
}

func TestAnAttachedTerminalRefusesPrompts(t *testing.T) {
	t.Parallel()
	prompt := func(force bool) core.Prompted {
		return core.Prompted{TurnID: "t1", Request: protocol.PromptRequest{Prompt: "go", Force: force}, Journaled: "go"}
	}
	attach := core.TerminalAttached{For: time.Minute}
	for name, c := range map[string]struct {
		before []core.Input
		prompt core.Prompted
		code   protocol.Code
	}{
		"a prompt while it is open":        {[]core.Input{attach}, prompt(false), protocol.CodeAttached},
		"a forced prompt while it is open": {[]core.Input{attach}, prompt(true), ""},
		"a prompt after it was closed": {
			[]core.Input{attach, core.TerminalAttached{Closed: true}}, prompt(false), "",
		},
		"a client that cannot be notified refuses no prompt": {[]core.Input{core.TerminalAttached{}}, prompt(false), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := opened(t).then(c.before...)
			if err := r.try(c.prompt); protocol.CodeOf(err) != c.code {
				t.Errorf("%v, want %q", err, c.code)
			}
		})
	}
	r := opened(t).then(attach)
	r.at = r.at.Add(time.Minute)
	if err := r.try(prompt(false)); err != nil {
		t.Errorf("a client that has not reported for a minute: %v", err)
	}
}
