package claude

import (
	"context"
	"sync"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// turn maps what the program says to an Output. Its methods are called by the
// goroutine of Run, save those of permission.go.
type turn struct {
	agent   *agent
	program *program // changed by install and running alone, under agent.mu
	prompt  agenthost.Prompt
	id      string // of the prompt's message
	reused  bool   // the program ran before and has said nothing of this turn
	out     agenthost.Output
	broken  error // the Output failed before the turn was played

	said      chan saying
	failed    chan error    // an Output failed in a question
	interrupt chan struct{} // closed by Agent.Interrupt
	stopOnce  sync.Once
	done      chan struct{} // closed when Run returns

	asking    context.Context // of the open questions
	withdraw  context.CancelCauseFunc
	questions sync.WaitGroup

	calls map[string]*call
	order []*call

	mu   sync.Mutex                    // open, and denied of the calls
	open map[string]context.CancelFunc // by request id: the open questions

	speech   speech
	progress progress
	garbage  garbage
}

func newTurn(ctx context.Context, a *agent, prompt agenthost.Prompt, out agenthost.Output) *turn {
	t := &turn{
		agent:     a,
		prompt:    prompt,
		out:       out,
		said:      make(chan saying),
		failed:    make(chan error, 1),
		interrupt: make(chan struct{}),
		done:      make(chan struct{}),
		calls:     map[string]*call{},
		open:      map[string]context.CancelFunc{},
	}
	t.asking, t.withdraw = context.WithCancelCause(ctx)
	return t
}

func (t *turn) interrupted() bool {
	select {
	case <-t.interrupt:
		return true
	default:
		return false
	}
}

// play returns when the turn is over, whoever ended it.
func (t *turn) play(ctx context.Context) agenthost.Outcome {
	defer func() {
		t.withdraw(nil)
		t.questions.Wait()
	}()
	if t.broken != nil {
		return t.stop(ctx, t.broken)
	}
	var late <-chan time.Time
	for {
		select {
		case s := <-t.said:
			t.reused = false
			if err := t.hear(s); err != nil {
				return t.stop(ctx, err)
			}
			if t.progress.over() {
				return t.whole(t.progress.outcome())
			}
			late = t.followUp(late)
		case <-late:
			return t.whole(t.progress.outcome())
		case err := <-t.failed:
			return t.stop(ctx, err)
		case <-t.interrupt:
			return t.stop(ctx, nil)
		case <-ctx.Done():
			return t.stop(ctx, ctx.Err())
		case <-t.program.ended:
			switch {
			case t.revive(ctx):
			case t.interrupted() || ctx.Err() != nil:
				return aborted()
			default:
				return t.exited()
			}
		}
	}
}

// followUp starts the wait for a turn without a prompt, or ends it.
func (t *turn) followUp(running <-chan time.Time) <-chan time.Time {
	switch {
	case !t.progress.expecting():
		return nil
	case running != nil:
		return running
	default:
		return time.After(t.agent.options.FollowUp)
	}
}

// revive gives the turn a new program in place of one that had ended, unseen,
// before it said anything of this turn. It reports whether it did.
func (t *turn) revive(ctx context.Context) bool {
	if !t.reused {
		return false
	}
	t.reused = false
	if err := t.launch(ctx); err != nil {
		t.agent.spec.Log.Error("agent cannot be started again", "agent", t.agent.options.Name, "err", err)
		return false
	}
	return true
}

// exited is the outcome when the program has ended by itself.
func (t *turn) exited() agenthost.Outcome {
	t.agent.spec.Log.Warn("agent exited during a turn", "agent", t.agent.options.Name)
	t.withdraw(agenthost.ErrExpired)
	return t.whole(agenthost.Outcome{
		FinishReason: protocol.FinishError,
		Reason:       protocol.ReasonAgentExited,
		Usage:        t.progress.usage(),
		Err:          t.program.epitaph("The agent " + t.agent.options.Name + " exited during the turn"),
	})
}

// whole leaves no block open and no call without a result.
func (t *turn) whole(outcome agenthost.Outcome) agenthost.Outcome {
	t.withdraw(nil)
	t.questions.Wait()
	err := t.close()
	for _, c := range t.order {
		if !c.answered && err == nil {
			err = t.result(c, []byte(`"the agent gave no result"`), true, false)
		}
	}
	t.garbage.report(t)
	return outcome
}

func aborted() agenthost.Outcome {
	return agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
}
