package stdio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// errOutput marks an error of the Output before the turn began.
var errOutput = errors.New("the output failed")

// run is a turn with the child in which it runs.
type run[M any] struct {
	*Turn
	agent    *Agent[M]
	prompt   agenthost.Prompt
	link     *link[M] // set by begin, before the run is attached
	exchange Exchange[M]
	messages chan incoming[M]

	reused   bool // the child served an earlier turn
	received bool // a message of this turn has arrived
}

// begin opens the session in a child and sends the prompt.
func (r *run[M]) begin() error {
	a := r.agent
	a.attach(nil)
	link, reused, err := a.open(r.ctx, r.Out)
	if err != nil {
		return err
	}
	restored, err := a.introduce(r.ctx, r.Out)
	if err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	r.link, r.reused = link, reused
	a.attach(r)
	r.exchange = link.connection.Begin(r.Turn)
	if err := r.exchange.Prompt(r.ctx, r.prompt, restored); err != nil {
		return err
	}
	a.memoryLost = false
	return nil
}

// introduce reports the id of a new session to the host, and returns the restored
// context if the agent has lost its memory.
func (a *Agent[M]) introduce(ctx context.Context, out agenthost.Output) (restored string, err error) {
	if a.session != "" && a.session != a.announced {
		if err := out.SetAgentSessionID(a.session); err != nil {
			return "", err
		}
		a.announced = a.session
	}
	if a.memoryLost {
		return out.Restored(ctx)
	}
	return "", nil
}

// play runs the turn until it is over.
func (r *run[M]) play(ctx context.Context) agenthost.Outcome {
	for {
		select {
		case in := <-r.messages:
			r.received = true
			if in.overlong {
				return r.fail(ctx, in.invalid)
			}
			outcome, err := r.handle(in)
			switch {
			case err != nil:
				return r.abort(ctx, err)
			case outcome != nil:
				return r.finish(*outcome)
			}
		case err := <-r.failed:
			return r.abort(ctx, err)
		case <-r.interrupt:
			return r.abort(ctx, nil)
		case <-ctx.Done():
			return r.abort(ctx, ctx.Err())
		case <-r.link.child.ended:
			if child := r.link.child; !r.restart() {
				return r.exited(child)
			}
		}
	}
}

func (r *run[M]) handle(in incoming[M]) (*agenthost.Outcome, error) {
	if in.invalid != "" {
		r.Skip(in.invalid)
		return nil, nil
	}
	return r.exchange.Handle(in.message)
}

// restart sends the prompt to a new child if the first child exited before it sent
// a message of this turn.
func (r *run[M]) restart() bool {
	if !r.reused || r.received {
		return false
	}
	err := r.begin() // a second restart is impossible, because the child is new
	if err != nil {
		r.Log.Error("agent cannot be started again", "agent", r.name, "err", err)
	}
	return err == nil
}

// fail stops a turn in which the program sent a line that is too long to be read. It may have been the
// program's last word on the turn, or a question to which the program waits for an answer.
func (r *run[M]) fail(ctx context.Context, line string) agenthost.Outcome {
	if err := r.halt(ctx, nil); err != nil {
		return r.aborted(err)
	}
	return r.finish(*Failure("The agent " + r.name + " sent " + line + ", which the host does not read. The turn was stopped"))
}

func (r *run[M]) abort(ctx context.Context, cause error) agenthost.Outcome {
	return r.aborted(r.halt(ctx, cause))
}

// aborted returns the outcome of a turn that was halted.
func (r *run[M]) aborted(cause error) agenthost.Outcome {
	if cause == nil {
		_ = r.exchange.Close(true)
		r.reportInvalid()
	}
	outcome := *Aborted()
	outcome.Usage = r.exchange.Usage()
	return outcome
}

// halt stops the turn with the program's own cancellation, or otherwise by ending
// the program. Messages in between are still handled, unless the Output failed
// (cause). It returns the error of the Output.
func (r *run[M]) halt(ctx context.Context, cause error) error {
	ctx = context.WithoutCancel(ctx)
	r.CancelQuestions(nil)
	r.exchange.Cancel(ctx)
	grace := time.NewTimer(r.agent.config.Grace)
	defer grace.Stop()
	for stopped := false; !stopped; {
		select {
		case in := <-r.messages:
			stopped, cause = r.drain(in, cause)
			if r.link.child.IsEnding() {
				stopped = false // it was signalled: only its exit guarantees that nothing still runs
			} else if !stopped {
				r.exchange.Cancel(ctx)
			}
		case <-grace.C:
			r.Log.Warn("agent ignores the interrupt", "agent", r.name)
			r.link.child.Signal()
		case <-r.link.child.ended:
			stopped = true
		}
	}
	return cause
}

func (r *run[M]) drain(in incoming[M], cause error) (stopped bool, _ error) {
	if in.invalid != "" {
		if cause == nil {
			r.Skip(in.invalid)
		}
		return false, cause
	}
	stopped, err := r.exchange.Drain(in.message, cause != nil)
	if cause == nil {
		cause = err
	}
	return stopped, cause
}

// exited returns the outcome when a child exits by itself.
func (r *run[M]) exited(child *Child) agenthost.Outcome {
	if r.ctx.Err() != nil { // interrupted during the restart
		return *Aborted()
	}
	r.Log.Warn("agent exited during a turn", "agent", r.name)
	r.CancelQuestions(agenthost.ErrExpired)
	return r.finish(agenthost.Outcome{
		FinishReason: protocol.FinishError,
		Reason:       protocol.ReasonAgentExited,
		Err:          child.ExitSummary("The agent " + r.name + " exited during the turn"),
	})
}

// finish closes open blocks and gives each open call a result.
func (r *run[M]) finish(outcome agenthost.Outcome) agenthost.Outcome {
	r.CloseOut(r.exchange.Close)
	if outcome.Usage == nil {
		outcome.Usage = r.exchange.Usage()
	}
	return outcome
}
