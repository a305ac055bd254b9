package claude

import (
	"cmp"
	"encoding/json"

	"bellhop/agenthost"
)

// call is a tool call of this turn, of the main agent or of a sub-agent.
type call struct {
	id       string
	name     string
	input    json.RawMessage
	answered bool
	denied   bool // by us
}

// call announces a call once: the message with it and the request for its
// permission come in either order.
func (t *turn) call(id, name string, input json.RawMessage) (*call, error) {
	if c := t.calls[id]; c != nil {
		return c, nil
	}
	c := &call{id: cmp.Or(id, "call"), name: cmp.Or(name, "tool"), input: input}
	if len(c.input) == 0 || string(c.input) == "null" {
		c.input = json.RawMessage("{}")
	}
	t.calls[id] = c
	t.order = append(t.order, c)
	if err := t.endReasoning(); err != nil {
		return nil, err
	}
	t.speech.closed = len(t.speech.block)
	return c, t.out.ToolCall(agenthost.ToolCall{ID: c.id, Name: c.name, Input: c.input})
}

func (t *turn) result(c *call, output json.RawMessage, isError, rejected bool) error {
	if c.answered {
		return nil
	}
	c.answered = true
	t.mu.Lock()
	denied := isError && (c.denied || rejected)
	t.mu.Unlock()
	return t.out.ToolResult(agenthost.ToolResult{
		ID: c.id, Name: c.name, Output: output, IsError: isError && !denied, Denied: denied,
	})
}
