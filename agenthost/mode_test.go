package agenthost_test

import (
	"context"
	"encoding/json"
	"testing"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// writes is a call of a tool that writes, asked about first.
func writes(got *agenthost.Answer) step {
	return func(ctx context.Context, out agenthost.Output) (err error) {
		args := json.RawMessage(`{"file_path":"a","content":"x"}`)
		*got, err = out.Confirm(ctx, agenthost.Question{ToolName: "Write", Args: args})
		return err
	}
}

// The mode of a check-in counts until another one names another mode, also after a
// restart of the host.
func TestThePermissionModeOfASessionStays(t *testing.T) {
	t.Parallel()
	r := newRig(t).underPolicy(testRules)
	turn := func(id string, mode protocol.PermissionMode) agenthost.Answer {
		t.Helper()
		var got agenthost.Answer
		r.agent.script(writes(&got))
		res := r.openSession(&protocol.OpenSessionRequest{
			SessionID: "s1", WebhookURL: r.broker.url(), BrokerID: "broker-1", NamedAnswers: true, Cursor: r.broker.cursorOf("s1"),
			Turn: &protocol.AnnouncedTurn{ID: id}, PermissionMode: mode,
		})
		stream, err := r.host.Start(t.Context(), r.grant("s1", res.Token), &protocol.PromptRequest{Prompt: "go"})
		if err != nil {
			t.Fatal(err)
		}
		r.read(stream)
		r.delivered()
		if mode != "" && res.PermissionMode != mode {
			t.Errorf("the host confirms the mode %q, not %q", res.PermissionMode, mode)
		}
		return got
	}
	if got := turn("t1", protocol.ModePlan); got.Approved || got.Reason == "" {
		t.Errorf("in plan mode: %+v", got)
	}
	if got := turn("t2", ""); got.Approved || got.Reason == "" {
		t.Errorf("the plan mode did not stay: %+v", got)
	}
	if got := turn("t3", protocol.ModeAcceptEdits); !got.Approved {
		t.Errorf("edits are not accepted: %+v", got)
	}
	r.stop()
	r.start()
	if got := turn("t4", ""); !got.Approved {
		t.Errorf("the mode did not outlive the host: %+v", got)
	}
	events := r.interactions("s1")
	for i, want := range []string{"plan", "plan", "accept-edits", "accept-edits"} {
		if len(events) != 4 || events[i].Answer.Reason != "policy: mode/"+want {
			t.Fatalf("interaction %d is not %s: %+v", i, want, events)
		}
	}
	_, err := r.host.OpenHeadless(t.Context(), &agenthost.HeadlessRequest{PermissionMode: "yolo"})
	r.wantCode("an unknown mode", err, protocol.CodeInvalid)
}

func TestAHeadlessSessionHasThePermissionModeItIsOpenedWith(t *testing.T) {
	t.Parallel()
	r := newRig(t).underPolicy(testRules)
	for mode, approved := range map[protocol.PermissionMode]bool{
		protocol.ModePlan: false, protocol.ModeAcceptEdits: true,
	} {
		var got agenthost.Answer
		r.agent.script(writes(&got))
		_, g := r.headless(&agenthost.HeadlessRequest{PermissionMode: mode})
		r.linesOf(g, `{"type":"input","text":"go"}`)
		if got.Approved != approved {
			t.Errorf("in the mode %s: %+v", mode, got)
		}
	}
}
