package stdio

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// noticed is how many invalid lines of a turn are shown one by one; the others are counted.
const noticed = 3

// Turn is the state of a turn that every provider needs: its Output, open questions,
// tool calls and invalid lines.
type Turn struct {
	Out agenthost.Output
	Log *slog.Logger

	name      string
	interrupt chan struct{} // closed by Interrupt
	once      sync.Once
	done      chan struct{} // closed when Run returns
	failed    chan error    // takes one error of the Output from a question

	ctx       context.Context // of the start and of the open questions
	cancel    context.CancelCauseFunc
	questions sync.WaitGroup
	mu        sync.Mutex
	open      map[string]context.CancelCauseFunc // questions by the id of their request

	calls   []*Call
	invalid int
}

// NewTurn makes a turn outside any Slot, for tests of a mapping.
func NewTurn(ctx context.Context, name string, log *slog.Logger, out agenthost.Output) *Turn {
	t := &Turn{
		Out:       out,
		Log:       log,
		name:      name,
		interrupt: make(chan struct{}),
		done:      make(chan struct{}),
		failed:    make(chan error, 1),
		open:      map[string]context.CancelCauseFunc{},
	}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	return t
}

// Context ends when the turn is interrupted, cancelled or over. The start of a program
// and the open questions run under it.
func (t *Turn) Context() context.Context { return t.ctx }

// Interrupted is closed by Interrupt.
func (t *Turn) Interrupted() <-chan struct{} { return t.interrupt }

// Done is closed when Run has returned.
func (t *Turn) Done() <-chan struct{} { return t.done }

// Failed receives the error that Fail was called with.
func (t *Turn) Failed() <-chan error { return t.failed }

// stop interrupts the turn. A program that is still starting is interrupted too.
func (t *Turn) stop() {
	t.once.Do(func() {
		close(t.interrupt)
		t.cancel(nil)
	})
}

// Fail cancels the turn for an error of the Output. It may be called by any goroutine.
func (t *Turn) Fail(err error) {
	select {
	case t.failed <- err:
	default:
	}
}

// Question calls ask in the background, so that the program can go on sending
// messages. ctx ends when the question is withdrawn; an error of ask before that fails
// the turn. Question returns false, and does not call ask, if the id is empty or
// belongs to a question that is still open.
func (t *Turn) Question(id string, ask func(ctx context.Context) error) bool {
	ctx, cancel := context.WithCancelCause(t.ctx)
	t.mu.Lock()
	fresh := id != "" && t.open[id] == nil
	if fresh {
		t.open[id] = cancel
	}
	t.mu.Unlock()
	if !fresh {
		cancel(nil)
		return false
	}
	t.questions.Go(func() {
		defer cancel(nil)
		err := ask(ctx)
		t.mu.Lock()
		delete(t.open, id)
		t.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			t.Fail(err)
		}
	})
	return true
}

// Ask is Question for a child that takes what ask returns as the answer.
func (t *Turn) Ask(child *Child, id string, ask func(ctx context.Context) (any, error)) {
	fresh := t.Question(id, func(ctx context.Context) error {
		answer, err := ask(ctx)
		if err != nil {
			return err
		}
		return child.Send(ctx, answer)
	})
	if !fresh {
		t.Skip("a question without a request id of its own")
	}
}

// Withdraw ends the context of one question with a cause.
func (t *Turn) Withdraw(id string, cause error) {
	t.mu.Lock()
	cancel := t.open[id]
	t.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

// CancelQuestions withdraws all questions and waits until none is open. The first cause
// counts.
func (t *Turn) CancelQuestions(cause error) {
	t.cancel(cause)
	t.questions.Wait()
}

// Skip shows the user that a message cannot be used. Its content stays out of the log.
func (t *Turn) Skip(what string) {
	t.invalid++
	if t.invalid <= noticed {
		t.Log.Warn("agent sent an unusable line", "agent", t.name)
		t.Out.Notice("warning", "The agent sent "+what)
	}
}

func (t *Turn) reportInvalid() {
	if more := t.invalid - noticed; more > 0 {
		t.Log.Warn("agent sent more unusable lines", "agent", t.name, "count", more)
		t.Out.Notice("warning", fmt.Sprintf("The agent sent %d further unusable lines", more))
	}
}

// CloseOut cancels the questions, closes the blocks with closeBlocks, and gives every
// call without a result an error. A failure of the Output leaves the others as they are.
func (t *Turn) CloseOut(closeBlocks func(cancelled bool) error) {
	t.CancelQuestions(nil)
	err := closeBlocks(false)
	for _, c := range t.calls {
		if !c.answered && err == nil {
			err = t.Result(c, Encode("the agent gave no result"), true)
		}
	}
	t.reportInvalid()
}

// Aborted is the outcome of a turn that was cancelled.
func Aborted() *agenthost.Outcome {
	return &agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
}

// Failure is the outcome of a turn that failed, with a message for the user.
func Failure(message string) *agenthost.Outcome {
	return &agenthost.Outcome{FinishReason: protocol.FinishError, Err: message}
}
