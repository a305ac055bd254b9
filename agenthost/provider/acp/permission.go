package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	sdk "github.com/coder/acp-go-sdk"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
)

// question is an unanswered permission request.
type question struct {
	ctx     context.Context // ends when the agent cancels the request
	request sdk.RequestPermissionRequest
	reply   chan sdk.RequestPermissionOutcome // receives one value
}

func (q *question) answer(outcome sdk.RequestPermissionOutcome) { q.reply <- outcome }

// permission passes a request to the running turn, after all earlier messages of
// the agent, and waits for the answer. A request between turns is cancelled,
// because no user can decide it.
func (c *connection) permission(
	ctx context.Context, request sdk.RequestPermissionRequest,
) sdk.RequestPermissionOutcome {
	q := &question{ctx: ctx, request: request, reply: make(chan sdk.RequestPermissionOutcome, 1)}
	if !c.deliver(message{question: q}) {
		return sdk.NewRequestPermissionOutcomeCancelled()
	}
	select {
	case outcome := <-q.reply:
		return outcome
	case <-ctx.Done():
		return sdk.NewRequestPermissionOutcomeCancelled()
	}
}

// permit asks the user about a permission request in the background. The request
// may be the first message about its call.
func (t *turn) permit(q *question) error {
	var u update
	if readable := json.Unmarshal(stdio.Encode(q.request.ToolCall), &u) == nil; !readable || u.ToolCallID == "" {
		t.Skip("a permission request without its tool call")
		q.answer(sdk.NewRequestPermissionOutcomeCancelled())
		return nil
	}
	c := t.call(u)
	if err := t.announce(c); err != nil {
		q.answer(sdk.NewRequestPermissionOutcomeCancelled())
		return err
	}
	t.permissions++
	id := strconv.Itoa(t.permissions)
	asked := agenthost.Question{
		Prompt: cmp.Or(c.latest.Title, "Run "+c.Name+"?"), ToolCallID: c.ID, ToolName: c.Name, Args: t.input(c),
	}
	t.Question(id, func(ctx context.Context) error {
		defer context.AfterFunc(q.ctx, func() {
			if !isClosed(t.connection.rpc.Done()) { // otherwise the program has exited, and the question expires with it
				t.CancelQuestion(id, nil)
			}
		})()
		answer, err := t.Out.Confirm(ctx, asked)
		if ctx.Err() != nil || err != nil {
			q.answer(sdk.NewRequestPermissionOutcomeCancelled())
			return err
		}
		q.answer(t.choose(c, answer.Approved, q.request.Options))
		return nil
	})
	return nil
}

// choose returns the option that decides only this call. The host remembers answers
// itself, because an agent that remembers an answer changes its mode permanently.
func (t *turn) choose(c *call, approved bool, options []sdk.PermissionOption) sdk.RequestPermissionOutcome {
	kind := sdk.PermissionOptionKindAllowOnce
	if !approved {
		kind = sdk.PermissionOptionKindRejectOnce
		c.SetDenied(true)
	}
	for _, option := range options {
		if option.Kind == kind {
			return sdk.NewRequestPermissionOutcomeSelected(option.OptionId)
		}
	}
	if approved {
		t.Out.Notice("warning", "The agent offers no permission for only this call, so the call is cancelled")
	}
	return sdk.NewRequestPermissionOutcomeCancelled()
}
