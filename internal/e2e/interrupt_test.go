package e2e

import (
	"testing"

	"bellhop/client"
	"bellhop/protocol"
)

func TestAnInterruptEndsTheTurnForTheStreamAndForTheBroker(t *testing.T) {
	t.Parallel()
	s := newStack(t, sqlite)
	task, c := s.task("stop it"), s.user()
	transcript := toEnd(t, send(t, c, task, "slow 3000"), func(event client.Event, _ *client.Transcript) {
		if !isPart(event, protocol.PartTextStart) {
			return
		}
		if _, err := c.Interrupt(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	})
	if transcript.End == nil || transcript.End.Type != protocol.PartAbort ||
		transcript.End.Reason != protocol.ReasonAborted {
		t.Errorf("the stream ended with %+v", transcript.End)
	}
	got := settle(t, c, task)
	if got.LastTurn.FinishReason != protocol.FinishOther || got.LastTurn.Reason != protocol.ReasonAborted ||
		got.AgentStatus != protocol.StatusIdle {
		t.Errorf("the broker's task is %+v, its turn %+v", got, got.LastTurn)
	}
	if _, err := c.Interrupt(t.Context(), task); err != nil {
		t.Errorf("an interrupt of an idle session: %v", err)
	}
}
