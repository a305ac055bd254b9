package stdio

import (
	"encoding/json"
	"sync/atomic"

	"bellhop/agenthost"
)

// Call is a tool call of a turn.
type Call struct {
	ID    string // unique within the turn
	Name  string
	Input json.RawMessage

	answered bool
	denied   atomic.Bool // set in the background by questions
}

// Answered reports whether the call has its result.
func (c *Call) Answered() bool { return c.answered }

// Denied reports whether the user or a rule denied the call.
func (c *Call) Denied() bool { return c.denied.Load() }

// SetDenied records whether the call is denied, for its result.
func (c *Call) SetDenied(denied bool) { c.denied.Store(denied) }

// Announce shows the call to the user.
func (t *Turn) Announce(c *Call) error {
	t.calls = append(t.calls, c)
	return t.Out.ToolCall(agenthost.ToolCall{ID: c.ID, Name: c.Name, Input: c.Input})
}

// Calls returns the announced calls, oldest first.
func (t *Turn) Calls() []*Call { return t.calls }

// Find returns the announced call with this id, or nil.
func (t *Turn) Find(id string) *Call {
	for _, c := range t.calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// Result records the result of the call, unless it already has one. A denied call
// is not an error.
func (t *Turn) Result(c *Call, output json.RawMessage, isError bool) error {
	if c.answered {
		return nil
	}
	c.answered = true
	denied := c.Denied()
	return t.Out.ToolResult(agenthost.ToolResult{
		ID: c.ID, Name: c.Name, Output: output, IsError: isError && !denied, Denied: denied,
	})
}
