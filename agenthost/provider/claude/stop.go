package claude

import (
	"context"
	"time"

	"bellhop/agenthost"
)

// stop ends the turn by the program's own interrupt, or else with the program.
// What it says meanwhile counts, unless nobody can take it (broken).
func (t *turn) stop(ctx context.Context, broken error) agenthost.Outcome {
	t.withdraw(nil)
	t.questions.Wait() // an answer on its way goes before the interrupt, or not at all
	grace := time.NewTimer(t.program.grace)
	defer grace.Stop()
	asked, signalled := false, false
	signal := func() {
		if !signalled {
			signalled = true
			go t.program.signal(context.WithoutCancel(ctx))
		}
	}
	if t.id == "" { // it was told nothing
		signal()
	}
	for over := false; !over; {
		// The program takes an interrupt that comes before the prompt's turn has
		// begun for one of nothing, and then begins it.
		if !asked && t.progress.begun() {
			asked = true
			t.progress.interrupt()
			t.program.offer(controlRequest(interruption, "interrupt"))
		}
		select {
		case s := <-t.said:
			broken = t.overhear(s, broken)
			if asked && !signalled && t.progress.stopped() {
				// An interrupt does not end commands in the background: the program
				// does, on its own way out.
				if over = !t.progress.busy(); !over {
					signal()
				}
			}
		case <-grace.C:
			t.agent.spec.Log.Warn("agent ignores the interrupt", "agent", t.agent.options.Name)
			signal()
		case <-t.program.ended:
			over = true
		}
	}
	if broken == nil {
		_ = t.close()
		t.garbage.report(t)
	}
	outcome := aborted()
	outcome.Usage = t.progress.usage()
	return outcome
}

// overhear is hear for a turn that is being stopped: nothing new is asked.
func (t *turn) overhear(s saying, broken error) error {
	if broken != nil || s.Type == "control_request" {
		t.progress.track(t.id, &s)
		return broken
	}
	return t.hear(s)
}

// interruption is the request id of the interrupt.
const interruption = "interrupt"
