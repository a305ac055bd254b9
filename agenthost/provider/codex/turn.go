package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// noticed is how many unusable lines of a turn are shown one by one; the rest
// is counted.
const noticed = 3

// turn maps what the program says to an Output. Its methods are called by the
// goroutine of Run, save those of approval.go.
type turn struct {
	agent   *agent
	program *program // set under agent.mu
	prompt  agenthost.Prompt
	out     agenthost.Output

	said      chan saying
	failed    chan error    // an Output failed in a question
	interrupt chan struct{} // closed by Agent.Interrupt
	stopOnce  sync.Once
	done      chan struct{} // closed when Run returns

	asking    context.Context // of the start and of the open questions
	withdraw  context.CancelCauseFunc
	questions sync.WaitGroup

	request string // id of turn/start
	id      string // "" until the program has named the turn
	revived bool

	speech speech
	calls  []*call

	mu   sync.Mutex           // open, and denied of the calls
	open map[string]*question // by request id

	garbage int
	usage   json.RawMessage

	before   tokens // the thread's total before the turn
	counting bool   // before is known
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
		open:      map[string]*question{},
	}
	t.speech = speech{out: out}
	t.asking, t.withdraw = context.WithCancelCause(ctx)
	go func() { // an interrupt reaches a program that is only starting
		select {
		case <-t.interrupt:
			t.withdraw(nil)
		case <-t.asking.Done():
		}
	}()
	return t
}

// begin sends the prompt; restored is what the agent has to be told first.
func (t *turn) begin(restored string) {
	text := t.prompt.Text
	if restored != "" {
		text = restored + "\n\n" + text
	}
	var input []object
	if text != "" {
		input = append(input, object{"type": "text", "text": text})
	}
	for _, attachment := range t.prompt.Attachments {
		if attachment.Type != "image" {
			t.out.Notice("warning", fmt.Sprintf("The agent does not take attachments of the type %.40q", attachment.Type))
			continue
		}
		input = append(input, object{"type": "image", "url": "data:" + attachment.MediaType + ";base64," + attachment.Data})
	}
	t.request = t.program.request(t.asking, "turn/start", object{"threadId": t.program.thread, "input": input})
}

// play returns when the turn is over, whoever ended it.
func (t *turn) play(ctx context.Context) agenthost.Outcome {
	defer func() {
		t.withdraw(nil)
		t.questions.Wait()
	}()
	for {
		select {
		case s := <-t.said:
			outcome, err := t.hear(s)
			switch {
			case err != nil:
				return t.stop(ctx, err)
			case outcome != nil:
				return t.whole(*outcome)
			}
		case err := <-t.failed:
			return t.stop(ctx, err)
		case <-t.interrupt:
			return t.stop(ctx, nil)
		case <-ctx.Done():
			return t.stop(ctx, ctx.Err())
		case <-t.program.ended:
			if !t.revive() {
				return t.exited()
			}
		}
	}
}

// revive gives the prompt to a new program in place of one that had ended,
// unseen, before it took it.
func (t *turn) revive() bool {
	if t.id != "" || t.revived {
		return false
	}
	t.revived = true
	err := t.agent.ready(t)
	if err != nil {
		t.agent.spec.Log.Error("agent cannot be started again", "agent", t.agent.options.Name, "err", err)
	}
	return err == nil
}

// stop ends the turn by the agent's own cancel, or else with its program. What
// the agent says meanwhile counts, unless nobody can take it (broken).
func (t *turn) stop(ctx context.Context, broken error) agenthost.Outcome {
	ctx = context.WithoutCancel(ctx)
	t.refuse(ctx)
	asked := t.cancel(ctx, false)
	grace := time.NewTimer(t.program.grace)
	defer grace.Stop()
	for over := false; !over; {
		select {
		case s := <-t.said:
			var outcome *agenthost.Outcome
			if s.isRequest() {
				t.program.send(ctx, cancellation(&s.message))
			} else if outcome, broken = t.overhear(s, broken); outcome != nil {
				over = true
			}
			asked = t.cancel(ctx, asked)
		case <-grace.C:
			t.agent.spec.Log.Warn("agent ignores the interrupt", "agent", t.agent.options.Name)
			go t.program.signal(ctx)
		case <-t.program.ended:
			over = true
		}
	}
	if broken == nil {
		_ = t.speech.end("")
		t.reportGarbage()
	}
	return agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted, Usage: t.usage}
}

// cancel asks the program to stop the turn, once it has a name. A turn that had
// ended already has said so.
func (t *turn) cancel(ctx context.Context, asked bool) bool {
	if asked || t.id == "" {
		return asked
	}
	t.program.request(ctx, "turn/interrupt", object{"threadId": t.program.thread, "turnId": t.id})
	return true
}

// overhear hears a turn that is being stopped.
func (t *turn) overhear(s saying, broken error) (*agenthost.Outcome, error) {
	if broken != nil {
		return t.ends(s), broken
	}
	return t.hear(s)
}

// exited is the outcome when the program has ended by itself.
func (t *turn) exited() agenthost.Outcome {
	if t.asking.Err() != nil { // while it was started again
		return agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
	}
	t.agent.spec.Log.Warn("agent exited during a turn", "agent", t.agent.options.Name)
	t.withdraw(agenthost.ErrExpired)
	return t.whole(agenthost.Outcome{
		FinishReason: protocol.FinishError,
		Reason:       protocol.ReasonAgentExited,
		Err:          t.program.epitaph("The agent " + t.agent.options.Name + " exited during the turn"),
	})
}

// whole leaves no block open, no call without a result and no approval without
// an answer.
func (t *turn) whole(outcome agenthost.Outcome) agenthost.Outcome {
	t.refuse(context.WithoutCancel(t.asking))
	err := t.speech.end("")
	for _, c := range t.calls {
		if !c.answered && err == nil {
			err = t.result(c, encode("the agent gave no result"), true)
		}
	}
	t.reportGarbage()
	outcome.Usage = t.usage
	return outcome
}

// skip reports a line that cannot be used; what it says is not for the log.
func (t *turn) skip(what string) {
	t.garbage++
	if t.garbage <= noticed {
		t.agent.spec.Log.Warn("agent sent an unusable line", "agent", t.agent.options.Name)
		t.out.Notice("warning", "The agent sent "+what)
	}
}

func (t *turn) reportGarbage() {
	if more := t.garbage - noticed; more > 0 {
		t.agent.spec.Log.Warn("agent sent more unusable lines", "agent", t.agent.options.Name, "count", more)
		t.out.Notice("warning", fmt.Sprintf("The agent sent %d further unusable lines", more))
	}
}
