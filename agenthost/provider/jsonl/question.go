package jsonl

import (
	"bytes"
	"cmp"
	"encoding/json"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// question puts an ask or a confirm to the user and passes the answer on; the
// program may go on talking meanwhile.
func (t *turn) question(line *protocol.Line) {
	t.mu.Lock()
	id := line.RequestID
	fresh := id != "" && !t.open[id]
	if fresh {
		t.open[id] = true
	}
	t.mu.Unlock()
	if !fresh {
		t.skip("a question without a request id of its own")
		return
	}
	var about *call
	if line.Type == protocol.LineConfirm {
		about = t.confirmed(line)
	}
	t.questions.Go(func() {
		answer, err := t.put(line, about)
		t.mu.Lock()
		delete(t.open, id)
		t.mu.Unlock()
		switch {
		case t.asking.Err() != nil: // withdrawn: the turn ends
		case err != nil:
			t.broken(err)
		default:
			t.program.send(t.asking, answer)
		}
	})
}

// put asks the user and returns the line for the program.
func (t *turn) put(line *protocol.Line, c *call) (protocol.Line, error) {
	reply := protocol.Line{SessionID: t.agent.spec.SessionID, RequestID: line.RequestID}
	if line.Type == protocol.LineAsk {
		answer, err := t.out.Ask(t.asking, agenthost.Question{Prompt: line.Prompt, Default: line.Default})
		if answer.Expired {
			answer.Text = line.Default
		}
		reply.Type, reply.Text = protocol.LineAnswer, &answer.Text
		return reply, err
	}
	q := agenthost.Question{Prompt: line.Prompt, ToolName: line.ToolName, Args: line.Args}
	if line.SecurityWarning != nil {
		q.Level = line.SecurityWarning.Level
		if line.SecurityWarning.Message != "" {
			q.Prompt += "\n" + line.SecurityWarning.Message
		}
	}
	if c != nil {
		q.ToolCallID, q.ToolName, q.Args = c.id, c.name, c.input
	}
	answer, err := t.out.Confirm(t.asking, q)
	reply.Type, reply.Value, reply.Reason = protocol.LineConfirmation, &answer.Approved, answer.Reason
	if answer.Expired {
		reply.Reason = cmp.Or(answer.Reason, "expired")
	}
	if err == nil && !answer.Approved && c != nil {
		t.mu.Lock()
		c.denied = true
		t.mu.Unlock()
	}
	return reply, err
}

// confirmed is the open call that a confirm is about: the newest of its tool,
// with its arguments if they are told. The interface does not tie them.
func (t *turn) confirmed(line *protocol.Line) *call {
	for i := len(t.calls) - 1; i >= 0; i-- {
		c := t.calls[i]
		sameTool := line.ToolName == "" || line.ToolName == c.name
		sameArgs := len(line.Args) == 0 || sameJSON(line.Args, c.input)
		if !c.answered && sameTool && sameArgs {
			return c
		}
	}
	return nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
