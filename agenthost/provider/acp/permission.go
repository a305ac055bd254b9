package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	sdk "github.com/coder/acp-go-sdk"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
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
		Offered: offered(q.request.Options),
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
		q.answer(t.choose(c, answer, q.request.Options))
		return nil
	})
	return nil
}

// offered returns what the agent takes as answers, or nil if it takes a yes and a no for only the call.
func offered(options []sdk.PermissionOption) *agenthost.Offered {
	var o agenthost.Offered
	for _, option := range options {
		switch option.Kind {
		case sdk.PermissionOptionKindAllowOnce:
			o.Yes = true
		case sdk.PermissionOptionKindRejectOnce:
			o.No = true
		}
	}
	if o.Yes && o.No {
		return nil
	}
	for _, option := range lasting(options) {
		name := protocol.CutText(cmp.Or(option.Name, string(option.OptionId)), maxName)
		o.Lasting = append(o.Lasting, agenthost.Lasting{
			Name: name, Approves: option.Kind == sdk.PermissionOptionKindAllowAlways,
		})
	}
	return &o
}

const maxName = 200 // bytes of the name of an answer

// lasting returns the options that decide more than the call.
func lasting(options []sdk.PermissionOption) (list []sdk.PermissionOption) {
	for _, option := range options {
		if option.Kind == sdk.PermissionOptionKindAllowAlways || option.Kind == sdk.PermissionOptionKindRejectAlways {
			list = append(list, option)
		}
	}
	return list
}

// choose returns the option that decides only this call, or the one that a person picked by its name. The host
// remembers answers itself, because an agent that remembers an answer changes its mode permanently. A no that no person
// gave, of a rule or because the time was over, is a lasting no if the agent takes no other: "cancelled" would say that
// the turn has been stopped.
func (t *turn) choose(c *call, answer agenthost.Answer, options []sdk.PermissionOption) sdk.RequestPermissionOutcome {
	kind := sdk.PermissionOptionKindAllowOnce
	if !answer.Approved {
		kind = sdk.PermissionOptionKindRejectOnce
		c.SetDenied(true)
	}
	if picked := lasting(options); answer.Picked > 0 && answer.Picked <= len(picked) {
		return sdk.NewRequestPermissionOutcomeSelected(picked[answer.Picked-1].OptionId)
	}
	for _, option := range options {
		if option.Kind == kind {
			return sdk.NewRequestPermissionOutcomeSelected(option.OptionId)
		}
	}
	if !answer.Approved {
		for _, option := range options {
			if option.Kind == sdk.PermissionOptionKindRejectAlways {
				name := cmp.Or(option.Name, string(option.OptionId))
				t.Out.Notice("warning", fmt.Sprintf("The agent takes no no for only this call. It was given %q", name))
				return sdk.NewRequestPermissionOutcomeSelected(option.OptionId)
			}
		}
	}
	t.Out.Notice("warning", "The agent takes no such answer for only this call, so the call is cancelled")
	return sdk.NewRequestPermissionOutcomeCancelled()
}
