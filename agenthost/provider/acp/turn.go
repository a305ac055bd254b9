package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// noticed is how many unusable lines of a turn are shown one by one; the rest
// is counted.
const noticed = 3

// turn maps what the program says to an Output. Its methods are called by the
// goroutine of Run, save those of permission.go.
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

	heard   bool // the program has said something of this turn
	revived bool

	speech speech
	calls  []*call
	mu     sync.Mutex // denied of the calls

	garbage int
	context object // of the newest usage update
	usage   json.RawMessage
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
		speech:    speech{out: out},
	}
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

// begin sends the prompt; restored is what the agent has to be told first. The
// response is one more saying, behind all that the agent said before it.
func (t *turn) begin(restored string) {
	text := t.prompt.Text
	if restored != "" {
		text = restored + "\n\n" + text
	}
	blocks := []sdk.ContentBlock{}
	if text != "" {
		blocks = append(blocks, sdk.TextBlock(text))
	}
	for _, attachment := range t.prompt.Attachments {
		if attachment.Type != "image" || !t.program.capabilities.PromptCapabilities.Image {
			t.out.Notice("warning", fmt.Sprintf("The agent does not take attachments of the type %.40q", attachment.Type))
			continue
		}
		blocks = append(blocks, sdk.ImageBlock(attachment.Data, attachment.MediaType))
	}
	program := t.program
	go func() {
		// Not under the turn's context: its end is told by session/cancel.
		response, err := program.conn.Prompt(context.Background(), sdk.PromptRequest{SessionId: program.session, Prompt: blocks})
		if err != nil && closed(program.conn.Done()) {
			return // it exits, which says more
		}
		select {
		case t.said <- saying{finish: &finish{response: response, err: err}}:
		case <-t.done:
		}
	}()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
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
	for {
		select {
		case s := <-t.said:
			t.heard = true
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
// unseen, before it said anything of this turn.
func (t *turn) revive() bool {
	if t.heard || t.revived {
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
	// The answers to open permissions first: Gemini CLI waits for them.
	t.withdraw(nil)
	t.questions.Wait()
	go func() { // a program that does not read its input gets signals soon
		_ = t.program.conn.Cancel(ctx, sdk.CancelNotification{SessionId: t.program.session})
	}()
	grace := time.NewTimer(t.program.grace)
	defer grace.Stop()
	for over := false; !over; {
		select {
		case s := <-t.said:
			switch {
			case s.question != nil:
				s.question.answer(sdk.NewRequestPermissionOutcomeCancelled())
			case s.finish != nil:
				t.finished(s.finish)
				over = true
			case broken == nil:
				_, broken = t.hear(s)
			}
		case <-grace.C:
			t.agent.spec.Log.Warn("agent ignores the interrupt", "agent", t.agent.options.Name)
			go t.program.signal(ctx)
		case <-t.program.ended:
			over = true
		}
	}
	if broken == nil {
		_ = t.speech.end()
		t.reportGarbage()
	}
	return agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted, Usage: t.usage}
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

// whole leaves no block open and no call without a result.
func (t *turn) whole(outcome agenthost.Outcome) agenthost.Outcome {
	t.withdraw(nil)
	t.questions.Wait()
	err := t.announceAll()
	if err == nil {
		err = t.speech.end()
	}
	if err == nil {
		err = t.overdue()
	}
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
