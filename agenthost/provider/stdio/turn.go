package stdio

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// shownInvalid is how many invalid lines of a turn are shown one by one; further
// ones are only counted.
const shownInvalid = 3

// Turn is the state of a turn that every provider needs: its Output, open
// questions, tool calls and invalid lines.
type Turn struct {
	Out agenthost.Output
	Log *slog.Logger

	name      string        // of the agent, for the log
	interrupt chan struct{} // closed by stop
	once      sync.Once
	done      chan struct{} // closed when Run returns
	failed    chan error    // receives one error of the Output from a question

	ctx       context.Context // for the start and the open questions
	cancel    context.CancelCauseFunc
	questions sync.WaitGroup
	mu        sync.Mutex
	open      map[string]context.CancelCauseFunc // cancels questions, by the id of their request

	calls   []*Call
	invalid int
}

// NewTurn creates a turn without a Slot, to test a mapping.
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

// Context ends when the turn is interrupted, cancelled or over. The start of a
// program and the open questions use it.
func (t *Turn) Context() context.Context { return t.ctx }

// Interrupted is closed when the turn is interrupted.
func (t *Turn) Interrupted() <-chan struct{} { return t.interrupt }

// Done is closed when Run has returned.
func (t *Turn) Done() <-chan struct{} { return t.done }

// Failed receives the error that was passed to Fail.
func (t *Turn) Failed() <-chan error { return t.failed }

// stop interrupts the turn, even while the program is starting.
func (t *Turn) stop() {
	t.once.Do(func() {
		close(t.interrupt)
		t.cancel(nil)
	})
}

// Fail reports an error of the Output, which ends the turn. Only the first error
// counts. It is safe for concurrent use.
func (t *Turn) Fail(err error) {
	select {
	case t.failed <- err:
	default:
	}
}

// Question calls ask in the background, so that the program can continue to send
// messages. ctx ends when the question is cancelled; an error of ask before that
// fails the turn. Question returns false without calling ask if the id is empty or
// belongs to an open question.
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

// Ask asks a Question and sends the result of ask to the child.
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

// CancelQuestion ends the context of one question with a cause.
func (t *Turn) CancelQuestion(id string, cause error) {
	t.mu.Lock()
	cancel := t.open[id]
	t.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

// CancelQuestions cancels all questions and waits until none is open. Only the
// first cause counts.
func (t *Turn) CancelQuestions(cause error) {
	t.cancel(cause)
	t.questions.Wait()
}

// Skip shows the user that a message cannot be used. The log does not contain the
// message.
func (t *Turn) Skip(what string) {
	t.invalid++
	if t.invalid <= shownInvalid {
		t.Log.Warn("agent sent an unusable line", "agent", t.name)
		t.Out.Notice("warning", "The agent sent "+what)
	}
}

func (t *Turn) reportInvalid() {
	if more := t.invalid - shownInvalid; more > 0 {
		t.Log.Warn("agent sent more unusable lines", "agent", t.name, "count", more)
		t.Out.Notice("warning", fmt.Sprintf("The agent sent %d further unusable lines", more))
	}
}

// CloseOut cancels the questions, closes the blocks with closeBlocks, and gives
// every call without a result an error. After an error of closeBlocks or of the Output
// the remaining calls stay without one.
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

// Aborted returns the outcome of a cancelled turn.
func Aborted() *agenthost.Outcome {
	return &agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
}

// Failure returns the outcome of a failed turn, with a message for the user.
func Failure(message string) *agenthost.Outcome {
	return &agenthost.Outcome{FinishReason: protocol.FinishError, Err: message}
}
