package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"bellhop/protocol"
)

// played is a completer that plays fixed completions and repeats the last one: strings are
// text, ToolCalls calls, an error ends it. It records the conversations it gets.
type played struct {
	completions [][]any
	shown       [][]Message
}

func (p *played) Complete(_ context.Context, conversation []Message, _ []ToolSpec) iter.Seq2[Delta, error] {
	p.shown = append(p.shown, slices.Clone(conversation))
	next := p.completions[0]
	if len(p.completions) > 1 {
		p.completions = p.completions[1:]
	}
	return func(yield func(Delta, error) bool) {
		for _, step := range next {
			var delta Delta
			var err error
			switch step := step.(type) {
			case string:
				delta.Text = step
			case ToolCall:
				delta.Call = &step
			case error:
				err = step
			}
			if !yield(delta, err) {
				return
			}
		}
	}
}

func list(path string) ToolCall {
	return ToolCall{ID: "models-own", Name: ToolListDir, Arguments: encode(map[string]string{"path": path})}
}

// kinds is a transcript without its details.
func kinds(t *testing.T, c *client) string {
	t.Helper()
	var all []string
	for _, raw := range c.seen {
		var line protocol.Line
		if err := protocol.Decode([]byte(raw), &line); err != nil {
			t.Fatal(err)
		}
		detail := line.State + line.ID + line.Message
		if line.Content != nil && line.Type != protocol.LineToolMessage {
			detail = *line.Content
		}
		all = append(all, strings.TrimSuffix(line.Type+" "+detail+" "+line.Reason, " "))
	}
	return strings.Join(all, "\n")
}

func TestLoop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		completions [][]any
		want        string
	}{
		"only text": {
			[][]any{{"a", "", "b"}},
			"state thinking\nchunk a\nchunk b\nmessage ab\nstate waiting_for_input done",
		},
		"nothing at all": {
			[][]any{{}},
			"state thinking\nstate waiting_for_input done",
		},
		"several calls, text between them": {
			[][]any{{"a", list("."), "b", list("src")}, {"c"}},
			"state thinking\nchunk a\nmessage a\nchunk b\nmessage b\ntool_start " +
				"id-1\nstate executing_tool\ntool_message id-1\n" +
				"tool_start id-2\ntool_message id-2\nstate thinking\nchunk c\nmessage c\nstate waiting_for_input done",
		},
		"an unknown tool is an error result": {
			[][]any{{ToolCall{Name: "fly", Arguments: []byte("{}")}}, {"c"}},
			"state thinking\ntool_start id-1\ntool_message id-1\nchunk c\nmessage c\nstate waiting_for_input done",
		},
		"an error keeps the text before it": {
			[][]any{{"a", errors.New("overloaded")}},
			"state thinking\nchunk a\nmessage a\nstatus overloaded\nstate waiting_for_input error",
		},
		"calls before an error are still run": {
			[][]any{{list("."), errors.New("overloaded")}},
			"state thinking\ntool_start id-1\nstate executing_tool\ntool_message id-1\nstatus overloaded\nstate " +
				"waiting_for_input error",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, Options{Completer: &played{completions: c.completions}, Model: "played"})
			a.input("go")
			a.until(protocol.LineState)
			a.ends()
			if got := kinds(t, a); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestAModelThatKeepsCallingToolsEndsInAnError(t *testing.T) {
	t.Parallel()
	model := &played{completions: [][]any{{list("src")}}}
	a := serve(t, Options{Completer: model})
	a.input("go")
	if got := a.until(protocol.LineStatus).Message; got != "The model called tools 200 times in one turn without an end" {
		t.Errorf("got %q", got)
	}
	a.waiting(protocol.WaitingError)
	a.ends()
	if len(model.shown) != maxSteps {
		t.Errorf("%d completions", len(model.shown))
	}
}

func TestTheModelGetsTheCompleteConversation(t *testing.T) {
	t.Parallel()
	ask := ToolCall{Name: ToolAskUser, Arguments: []byte(`{"question":"Which?","default":"any"}`)}
	model := &played{completions: [][]any{{"let me ask", ask}, {"thanks"}, {"again"}}}
	a := serve(t, Options{Completer: model})
	a.input("one")
	if q := a.until(protocol.LineAsk); q.Prompt != "Which?" || q.Default != "any" {
		t.Errorf("asked %+v", q)
	}
	a.send(`{"type":"answer","request_id":"id-2","text":"that"}`)
	a.waiting(protocol.WaitingDone)
	a.input("two")
	a.waiting(protocol.WaitingDone)
	a.ends()
	ask.ID = "id-1"
	want := []Message{
		{Role: RoleUser, Text: "one"},
		{Role: RoleAssistant, Text: "let me ask", Calls: []ToolCall{ask}},
		{Role: RoleTool, CallID: "id-1", Text: "that", Outcome: OutcomeDone},
		{Role: RoleAssistant, Text: "thanks"},
		{Role: RoleUser, Text: "two"},
	}
	if got := fmt.Sprintf("%+v", model.shown[2]); got != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %s\nwant %+v", got, want)
	}
}

func TestInterruptedCallsHaveResults(t *testing.T) {
	t.Parallel()
	ask := ToolCall{Name: ToolAskUser, Arguments: []byte(`{"question":"Which?"}`)}
	model := &played{completions: [][]any{{"a", ask, list(".")}, {"b"}}}
	a := serve(t, Options{Completer: model})
	a.input("one")
	a.until(protocol.LineAsk)
	a.send(`{"type":"interrupt"}`)
	a.waiting(protocol.WaitingInterrupted)
	a.input("two")
	a.waiting(protocol.WaitingDone)
	a.ends()
	for _, m := range model.shown[1][2:4] {
		if m.Role != RoleTool || m.Outcome != OutcomeError || m.Text != "Interrupted by the user." {
			t.Errorf("got %+v", m)
		}
	}
	if got := kinds(t, a); strings.Contains(got, "tool_start") {
		t.Errorf("a call behind the interrupt was announced:\n%s", got)
	}
}
