package terminal_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"bellhop/agenthost/core"
	"bellhop/agenthost/terminal"
	"bellhop/protocol"
)

// stars masks the word secret.
type stars struct{}

func (stars) Text(text string) string { return strings.ReplaceAll(text, "secret", "***") }

func (m stars) Value(raw json.RawMessage, otherwise string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(otherwise)
	}
	return json.RawMessage(m.Text(string(raw)))
}

func TestNoSecretOfATurnIsJournaled(t *testing.T) {
	t.Parallel()
	call := &core.ToolCall{ID: "c1", Name: "ls", Input: json.RawMessage(`"secret"`)}
	turn := terminal.Turn{
		ID: "t1", Prompt: "secret prompt\x00",
		Items: []core.TerminalItem{
			{Call: call},
			{Result: &core.ToolResult{ID: "c1", Output: json.RawMessage(`"secret"`)}},
			{Text: "secret text"},
			{Call: &core.ToolCall{ID: "c2"}},
			{Result: &core.ToolResult{ID: "c2"}},
		},
		Outcome: core.Outcome{
			FinishReason: protocol.FinishError, Reason: "secret reason", Err: "secret error",
			Usage: json.RawMessage(`{"secret":1}`),
		},
	}
	want := core.TerminalWorked{
		TurnID: "t1", Prompt: "*** prompt\uFFFD",
		Items: []core.TerminalItem{
			{Call: &core.ToolCall{ID: "c1", Name: "ls", Input: json.RawMessage(`"***"`)}},
			{Result: &core.ToolResult{ID: "c1", Output: json.RawMessage(`"***"`)}},
			{Text: "*** text"},
			{Call: &core.ToolCall{ID: "c2", Input: json.RawMessage(`{}`)}},
			{Result: &core.ToolResult{ID: "c2", Output: json.RawMessage(`null`)}},
		},
		Outcome: core.Outcome{
			FinishReason: protocol.FinishError, Reason: "*** reason", Err: "*** error", Usage: json.RawMessage(`{"***":1}`),
		},
	}
	if got := turn.Input(stars{}); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if string(call.Input) != `"secret"` {
		t.Error("the turn itself was changed")
	}
}

func TestAJournaledTurnIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	value := json.RawMessage(`"` + long + `"`)
	turn := terminal.Turn{Prompt: long + long, Items: []core.TerminalItem{
		{Call: &core.ToolCall{Input: value}}, {Result: &core.ToolResult{Output: value}}, {Text: strings.Repeat(long, 9)},
	}}
	for range 600 {
		turn.Items = append(turn.Items, core.TerminalItem{Text: "more"})
	}
	got := turn.Input(stars{})
	if len(got.Prompt) != protocol.MaxMessage || len(got.Items) != 500 {
		t.Errorf("a prompt of %d bytes and %d items", len(got.Prompt), len(got.Items))
	}
	call, result, text := got.Items[0], got.Items[1], got.Items[2]
	if !call.Truncated || len(call.Call.Input) > core.MaxValue || !result.Truncated ||
		len(result.Result.Output) > core.MaxValue {
		t.Errorf("a call of %d bytes, a result of %d", len(call.Call.Input), len(result.Result.Output))
	}
	if len(text.Text) != core.MaxText {
		t.Errorf("a text of %d bytes", len(text.Text))
	}
}
