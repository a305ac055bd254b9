package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// question puts an ask or a confirm to the user in the background and sends the answer
// to the program.
func (t *turn) question(line *protocol.Line) {
	var about *call
	if line.Type == protocol.LineConfirm {
		about = t.callToConfirm(line)
	}
	t.Ask(t.connection.child, line.RequestID, func(ctx context.Context) (any, error) { return t.ask(ctx, line, about) })
}

// ask asks the user and returns the line for the program.
func (t *turn) ask(ctx context.Context, line *protocol.Line, c *call) (protocol.Line, error) {
	reply := protocol.Line{SessionID: t.connection.sessionID, RequestID: line.RequestID}
	if line.Type == protocol.LineAsk {
		answer, err := t.Out.Ask(ctx, agenthost.Question{Prompt: line.Prompt, Default: line.Default})
		if answer.Expired {
			answer.Text = line.Default
		}
		reply.Type, reply.Text = protocol.LineAnswer, &answer.Text
		return reply, err
	}
	q := agenthost.Question{Prompt: line.Prompt, ToolName: line.ToolName, Args: line.Args}
	if line.SecurityWarning != nil {
		q.Level, q.Warning = line.SecurityWarning.Level, line.SecurityWarning.Message
	}
	if c != nil {
		q.ToolCallID, q.ToolName, q.Args = c.ID, c.Name, c.Input
	}
	answer, err := t.Out.Confirm(ctx, q)
	reply.Type, reply.Value, reply.Reason = protocol.LineConfirmation, &answer.Approved, answer.Reason
	if answer.Expired {
		reply.Reason = cmp.Or(answer.Reason, "expired")
	}
	if err == nil && !answer.Approved && c != nil {
		c.SetDenied(true)
	}
	return reply, err
}

// callToConfirm returns the open call that a confirm line asks about: the newest call of
// its tool, with its arguments if the line has them. The line has no
// id of the call.
func (t *turn) callToConfirm(line *protocol.Line) *call {
	for _, c := range slices.Backward(t.calls) {
		sameTool := line.ToolName == "" || line.ToolName == c.Name
		sameArgs := len(line.Args) == 0 || sameJSON(line.Args, c.Input)
		if !c.Answered() && sameTool && sameArgs {
			return c
		}
	}
	return nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
