package acp

import (
	"cmp"
	"context"
	"encoding/json"

	sdk "github.com/coder/acp-go-sdk"

	"bellhop/agenthost"
)

// question is a permission request that waits for its answer.
type question struct {
	ctx     context.Context // ends when the agent gives the request up
	request sdk.RequestPermissionRequest
	reply   chan sdk.RequestPermissionOutcome // takes one
}

func (q *question) answer(outcome sdk.RequestPermissionOutcome) { q.reply <- outcome }

// ask passes a request to the turn that runs, behind all that the agent said
// before it, and waits for the answer. Nobody can decide between turns.
func (a *agent) ask(ctx context.Context, from *program, request sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome {
	cancelled := sdk.NewRequestPermissionOutcomeCancelled()
	t := a.playing(from)
	if t == nil {
		return cancelled
	}
	q := &question{ctx: ctx, request: request, reply: make(chan sdk.RequestPermissionOutcome, 1)}
	select {
	case t.said <- saying{question: q}:
	case <-t.done:
		return cancelled
	case <-ctx.Done():
		return cancelled
	}
	select {
	case outcome := <-q.reply:
		return outcome
	case <-ctx.Done():
		return cancelled
	}
}

// permit puts a permission request to the user; the agent may go on talking
// meanwhile. The request may be the first word of its call.
func (t *turn) permit(q *question) error {
	var u update
	if readable := json.Unmarshal(encode(q.request.ToolCall), &u) == nil; !readable || u.ToolCallID == "" {
		t.skip("a permission request without its tool call")
		q.answer(sdk.NewRequestPermissionOutcomeCancelled())
		return nil
	}
	c := t.call(u)
	if err := t.announce(c); err != nil {
		q.answer(sdk.NewRequestPermissionOutcomeCancelled())
		return err
	}
	conn := t.program.conn.Done()
	t.questions.Go(func() {
		ctx, cancel := context.WithCancel(t.asking)
		defer cancel()
		defer context.AfterFunc(q.ctx, func() {
			if !closed(conn) { // else the program is gone, and exited expires the question
				cancel()
			}
		})()
		answer, err := t.out.Confirm(ctx, agenthost.Question{
			Prompt: cmp.Or(c.latest.Title, "Run "+c.name+"?"), ToolCallID: c.id, ToolName: c.name, Args: c.latest.input(),
		})
		if ctx.Err() != nil || err != nil {
			q.answer(sdk.NewRequestPermissionOutcomeCancelled())
			t.fail(ctx, err)
			return
		}
		q.answer(t.choose(c, answer.Approved, q.request.Options))
	})
	return nil
}

// fail ends the turn for an Output that failed; a question withdrawn is no
// failure.
func (t *turn) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	select {
	case t.failed <- err:
	default:
	}
}

// choose picks the option that decides this once. The host remembers by
// itself: an agent told to remember changes its mode, for good.
func (t *turn) choose(c *call, approved bool, options []sdk.PermissionOption) sdk.RequestPermissionOutcome {
	kind := sdk.PermissionOptionKindAllowOnce
	if !approved {
		kind = sdk.PermissionOptionKindRejectOnce
		t.mu.Lock()
		c.denied = true
		t.mu.Unlock()
	}
	for _, option := range options {
		if option.Kind == kind {
			return sdk.NewRequestPermissionOutcomeSelected(option.OptionId)
		}
	}
	if approved {
		t.out.Notice("warning", "The agent does not let this call be allowed once, so it is cancelled")
	}
	return sdk.NewRequestPermissionOutcomeCancelled()
}
