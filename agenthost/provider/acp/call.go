package acp

import (
	"cmp"
	"encoding/json"
	"strings"

	"bellhop/agenthost"
)

// call is a tool call of this turn, as far as the agent has told of it.
type call struct {
	id        string
	latest    update // members of all its updates, the last one of each
	announced bool
	answered  bool
	name      string
	denied    bool // under turn.mu
}

// call returns the call of an update, with the update taken in.
func (t *turn) call(u update) *call {
	var c *call
	for _, known := range t.calls {
		if known.id == u.ToolCallID {
			c = known
		}
	}
	if c == nil {
		c = &call{id: u.ToolCallID, latest: update{ToolCallID: u.ToolCallID}}
		t.calls = append(t.calls, c)
	}
	c.take(u)
	return c
}

func (c *call) take(u update) {
	l := &c.latest
	l.Title = cmp.Or(u.Title, l.Title)
	l.Name = cmp.Or(u.Name, l.Name)
	l.ToolKind = cmp.Or(u.ToolKind, l.ToolKind)
	l.Status = cmp.Or(u.Status, l.Status)
	l.Meta.ClaudeCode.ToolName = cmp.Or(u.Meta.ClaudeCode.ToolName, l.Meta.ClaudeCode.ToolName)
	if present(u.RawInput) {
		l.RawInput = u.RawInput
	}
	if present(u.RawOutput) {
		l.RawOutput = u.RawOutput
	}
	if present(u.Content) {
		l.Content = u.Content
	}
	if len(u.Locations) > 0 {
		l.Locations = u.Locations
	}
}

// toolUpdate maps a tool_call or tool_call_update. A call is announced when its
// input is whole: while it is pending, agents tell it piece by piece.
func (t *turn) toolUpdate(u update) error {
	if u.ToolCallID == "" {
		t.skip("a tool call without an id")
		return nil
	}
	c := t.call(u)
	if c.answered {
		return nil
	}
	ended := u.Status == "completed" || u.Status == "failed"
	if ended || u.Status == "in_progress" || present(u.Content) || len(u.Locations) > 0 || present(u.RawOutput) {
		if err := t.announce(c); err != nil {
			return err
		}
	}
	if !ended {
		return nil
	}
	return t.result(c, c.output(u), u.Status == "failed")
}

// announce tells of a call, once.
func (t *turn) announce(c *call) error {
	if c.announced {
		return nil
	}
	c.announced = true
	c.name = c.latest.tool()
	if err := t.speech.end(); err != nil {
		return err
	}
	return t.out.ToolCall(agenthost.ToolCall{ID: c.id, Name: c.name, Input: c.latest.input()})
}

// announceAll tells of the calls that wait for their input: the agent has gone
// on, it is whole.
func (t *turn) announceAll() error {
	for _, c := range t.calls {
		if err := t.announce(c); err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) result(c *call, output json.RawMessage, failed bool) error {
	c.answered = true
	t.mu.Lock()
	denied := c.denied
	t.mu.Unlock()
	return t.out.ToolResult(agenthost.ToolResult{
		ID: c.id, Name: c.name, Output: output, IsError: failed && !denied, Denied: denied,
	})
}

// tool is the agent's own name of the tool, where it tells it, else its kind.
func (u *update) tool() string {
	name := cmp.Or(u.Meta.ClaudeCode.ToolName, u.Name)
	// Gemini CLI puts it before the id: write_file__call_1.
	if end := strings.LastIndex(u.ToolCallID, "__"); name == "" && end > 0 {
		name = u.ToolCallID[:end]
	}
	if name == "" && u.ToolKind != "" && u.ToolKind != "other" {
		name = u.ToolKind
	}
	return cmp.Or(name, u.Title, "tool")
}

// input is the agent's own, else what can be told of it: what changes, which
// files it is about, which command runs.
func (u *update) input() json.RawMessage {
	if present(u.RawInput) {
		return u.RawInput
	}
	input := object{}
	if u.Title != "" {
		input["title"] = u.Title
	}
	if u.ToolKind == "execute" && u.Title != "" {
		input = object{"command": u.Title}
	}
	var changes []object
	for _, b := range u.blocks() {
		if b.Type == "diff" {
			changes = append(changes, object{"path": b.Path, "oldText": b.OldText, "newText": b.NewText})
		}
	}
	switch {
	case len(changes) > 0:
		input["changes"] = changes
	case len(u.Locations) > 0:
		input["path"] = u.Locations[0].Path
	}
	return encode(input)
}

// output is the agent's own, else the text that the update which ends the call
// shows: what earlier ones show is not of the result.
func (c *call) output(last update) json.RawMessage {
	if present(c.latest.RawOutput) {
		return c.latest.RawOutput
	}
	var texts []string
	for _, b := range last.blocks() {
		if b.Content != nil && b.Content.Text != "" {
			texts = append(texts, b.Content.Text)
		}
	}
	if len(texts) > 0 {
		return encode(strings.Join(texts, "\n"))
	}
	return encode(object{"status": last.Status})
}
