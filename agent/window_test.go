package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bellhop/protocol"
)

// drawHistory draws turns of a prompt, steps of calls with results, and a final text.
func drawHistory(t *rapid.T) []Message {
	var history []Message
	id := 0
	text := func(label string) string { return strings.Repeat("x", rapid.IntRange(0, 400).Draw(t, label)) }
	for range rapid.IntRange(1, 6).Draw(t, "turns") {
		history = append(history, Message{Role: RoleUser, Text: text("prompt")})
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			reply := Message{Role: RoleAssistant, Text: text("reply")}
			var results []Message
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				id++
				call := fmt.Sprintf("c%d", id)
				reply.Calls = append(reply.Calls, ToolCall{
					ID: call, Name: "x", Arguments: encode(map[string]string{"a": text("argument")}),
				})
				results = append(results, Message{Role: RoleTool, CallID: call, Text: text("result")})
			}
			history = append(append(history, reply), results...)
		}
		if rapid.Bool().Draw(t, "answered") {
			history = append(history, Message{Role: RoleAssistant, Text: "done"})
		}
	}
	return history
}

func TestFitKeepsCallsNextToTheirResults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history := drawHistory(t)
		before := slices.Clone(history)
		room := rapid.IntRange(0, 3000).Draw(t, "room")
		kept := fit(history, room)

		if fmt.Sprint(history) != fmt.Sprint(before) {
			t.Fatal("the history itself was changed")
		}
		if total(before) <= room && len(kept) != len(before) {
			t.Fatal("dropped although all fits")
		}
		if len(kept) == 0 || kept[0].Role != RoleUser {
			t.Fatalf("begins with %v", kept)
		}
		last := len(before) - 1
		for before[last].Role != RoleUser {
			last--
		}
		if !slices.ContainsFunc(kept, func(m Message) bool { return m.Role == RoleUser && m.Text == before[last].Text }) {
			t.Fatal("the newest prompt is gone")
		}
		open := map[string]bool{}
		for _, m := range kept {
			if m.Role == RoleTool {
				if !open[m.CallID] {
					t.Fatalf("the result of %s stands without its call", m.CallID)
				}
				delete(open, m.CallID)
				continue
			}
			if len(open) > 0 {
				t.Fatalf("calls without results: %v", open)
			}
			for _, call := range m.Calls {
				open[call.ID] = true
			}
		}
		if len(open) > 0 {
			t.Fatalf("calls without results: %v", open)
		}
		// More than one step of the newest turn is kept only if it fits.
		steps := 0
		for _, m := range kept {
			if m.Role == RoleAssistant {
				steps++
			}
		}
		if steps > 1 && total(kept) > room {
			t.Fatalf("%d tokens in a room of %d", total(kept), room)
		}
	})
}

func TestTheResultsOfATooLargeStepAreShortened(t *testing.T) {
	t.Parallel()
	history := []Message{
		{Role: RoleUser, Text: "read it"},
		{
			Role:  RoleAssistant,
			Calls: []ToolCall{{ID: "c", Name: ToolReadFile, Arguments: encode(map[string]string{"path": "x"})}},
		},
		{Role: RoleTool, CallID: "c", Text: strings.Repeat("ü", 100_000)},
	}
	kept := fit(history, 1000)
	if len(kept) != 3 || total(kept) > 1000 || !strings.Contains(kept[2].Text, "bytes left out") {
		t.Errorf("kept %d tokens: %.60s", total(kept), kept[2].Text)
	}
	if len(history[2].Text) != 200_000 {
		t.Error("the history itself was changed")
	}
}

func TestAConversationLargerThanTheWindowContinues(t *testing.T) {
	t.Parallel()
	model := &played{completions: [][]any{{strings.Repeat("long ", 100)}}}
	a := serve(t, Options{Completer: model, Model: "played", Window: 4000, Instructions: "be brief"})
	for range 40 {
		a.input(strings.Repeat("word ", 60))
		a.waiting(protocol.WaitingDone)
	}
	a.ends()
	notices := 0
	for _, line := range a.seen {
		if strings.Contains(line, "longer than the model's window: its oldest") {
			notices++
		}
	}
	last := model.shown[len(model.shown)-1]
	if notices == 0 || notices > 20 || last[0].Role != RoleSystem || last[0].Text != "be brief" || len(last) > 30 {
		t.Errorf("%d notices, %d messages shown", notices, len(last))
	}
}
