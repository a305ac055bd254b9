//go:build agents

package agents

import (
	"slices"
	"testing"

	"bellhop/client"
	"bellhop/protocol"
)

func TestADenialContinuesTheTurnAndWritesNothing(t *testing.T) {
	eachAgent(t, func(t *testing.T, d *dev) {
		task := d.task("denial")
		turn := d.send(task, writeIt)
		d.answers(turn.question(), false)
		turn.finishes()
		d.nothingWritten(d.workspace(task))
		tool := slices.IndexFunc(turn.transcript.Blocks, func(b *client.Block) bool { return b.Kind == client.BlockTool })
		if tool < 0 || turn.transcript.Blocks[tool].Tool.State != protocol.ToolDenied {
			t.Errorf("the tool is not shown as denied: %v", turn.types)
		}
		if !slices.ContainsFunc(turn.transcript.Blocks[tool+1:], func(b *client.Block) bool {
			return b.Kind == client.BlockText && b.Text != ""
		}) {
			t.Errorf("the agent had nothing to say after it: %v", turn.types)
		}
		d.settled(task)
		d.showsTool(task, protocol.ToolDenied)
		d.nothingWritten(d.project)
		d.ends(task)
	})
}

func TestAnInterruptDuringAQuestionAbortsTheTurnAndWritesNothing(t *testing.T) {
	eachAgent(t, func(t *testing.T, d *dev) {
		task := d.task("interrupt")
		turn := d.send(task, writeIt)
		question := turn.question()
		d.shows(task, protocol.StatusIdle, protocol.ReasonWaiting, 1)
		if _, err := d.user.Interrupt(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		if end := turn.end(); end.Type != protocol.PartAbort {
			t.Errorf("the turn ended with %+v", end)
		}
		d.settled(task)
		if stored, err := d.user.Task(t.Context(), task); err != nil || stored.LastTurn.Reason != protocol.ReasonAborted {
			t.Errorf("the broker has the end %+v (%v)", stored.LastTurn, err)
		}
		if err := d.answer(question, true); protocol.CodeOf(err) != protocol.CodeAnswered {
			t.Errorf("an answer after the interrupt: %v", err)
		}
		d.shows(task, protocol.StatusIdle, "", 0)

		// The next turn shows that the program still runs and has no open work.
		d.send(task, "Say hello").finishes()
		d.nothingWritten(d.workspace(task))
		d.nothingWritten(d.project)
		d.ends(task)
	})
}
