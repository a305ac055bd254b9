package core_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// What a recorder kept gives the same steps again.
func TestARecordingReplays(t *testing.T) {
	t.Parallel()
	r := started(t)
	r.do(
		core.AgentText{TurnID: "t1", Text: "hello"},
		core.AgentCalled{TurnID: "t1", Call: core.ToolCall{ID: "c1", Name: "ls", Input: json.RawMessage(`{}`)}},
		core.AgentAsked{TurnID: "t1", Kind: protocol.KindConfirm, Question: core.Question{ToolCallID: "c1", ToolName: "ls"}},
	)
	yes := true
	r.do(
		core.Answered{InteractionID: r.state.Questions[0].ID, Request: protocol.AnswerRequest{Approved: &yes}},
		core.AgentResulted{TurnID: "t1", Result: core.ToolResult{ID: "c1", Output: json.RawMessage(`"a"`)}},
		core.AgentEnded{TurnID: "t1"},
	)
	replayed := core.New("s1")
	for i := range r.kept {
		raw, err := json.Marshal(r.kept[i])
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "secret") {
			t.Errorf("the recording has the webhook's token: %s", raw)
		}
		var read core.Recorded
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatal(err)
		}
		step, err := replayed.Apply(read.Moment(), read.Input)
		if err != nil {
			t.Fatal(err)
		}
		replayed = step.State
	}
	want := r.state.Record
	want.WebhookURL = replayed.Record.WebhookURL
	if !reflect.DeepEqual(replayed.Record, want) {
		t.Errorf("replayed\n got  %+v\n want %+v", replayed.Record, want)
	}
}

func TestARecordingOfAnUnknownKindIsRefused(t *testing.T) {
	t.Parallel()
	var r core.Recorded
	if err := json.Unmarshal([]byte(`{"kind":"Guessed","input":{}}`), &r); err == nil {
		t.Error("accepted")
	}
}
