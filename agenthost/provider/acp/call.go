package acp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"bellhop/agenthost/provider/stdio"
)

// call is a tool call of this turn, as far as the agent has described it.
type call struct {
	stdio.Call
	latest    update // members of all its updates; a later update replaces earlier values
	announced bool
}

// call returns the call of an update, after merging the update into it.
func (t *turn) call(u update) *call {
	i := slices.IndexFunc(t.calls, func(c *call) bool { return c.ID == u.ToolCallID })
	if i < 0 {
		i = len(t.calls)
		t.calls = append(t.calls, &call{Call: stdio.Call{ID: u.ToolCallID}, latest: update{ToolCallID: u.ToolCallID}})
	}
	t.calls[i].merge(u)
	return t.calls[i]
}

func (c *call) merge(u update) {
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
// input is complete: while the call is pending, agents send the input in parts.
func (t *turn) toolUpdate(u update) error {
	if u.ToolCallID == "" {
		t.Skip("a tool call without an id")
		return nil
	}
	c := t.call(u)
	if c.Answered() {
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
	return t.Result(&c.Call, c.output(u), u.Status == "failed")
}

// announce shows a call, once.
func (t *turn) announce(c *call) error {
	if c.announced {
		return nil
	}
	c.announced = true
	c.Name, c.Input = c.latest.tool(), t.input(c)
	if err := t.blocks.end(); err != nil {
		return err
	}
	return t.Announce(&c.Call)
}

func (t *turn) input(c *call) json.RawMessage {
	return c.latest.input(t.connection.options.TitleIsCommand)
}

// announceAll shows the calls whose input was incomplete. The agent has continued,
// so their input is now complete.
func (t *turn) announceAll() error {
	for _, c := range t.calls {
		if err := t.announce(c); err != nil {
			return err
		}
	}
	return nil
}

// tool returns the agent's own name of the tool, or otherwise its kind.
func (u *update) tool() string {
	name := cmp.Or(u.Meta.ClaudeCode.ToolName, u.Name)
	// Gemini CLI puts the name before the id: write_file__call_1.
	if end := strings.LastIndex(u.ToolCallID, "__"); name == "" && end > 0 {
		name = u.ToolCallID[:end]
	}
	if name == "" && u.ToolKind != "" && u.ToolKind != "other" {
		name = u.ToolKind
	}
	// Gemini CLI calls a server's tool mcp_server_tool.
	if tool, ok := strings.CutPrefix(name, "mcp_"+hostServer+"_"); ok {
		name = "mcp__" + hostServer + "__" + tool
	}
	return cmp.Or(name, "tool")
}

// input returns the agent's own input. If there is none, it builds one from the
// changes and files of the call, and from the title of an agent whose titles are its commands.
func (u *update) input(titleIsCommand bool) json.RawMessage {
	if present(u.RawInput) {
		return u.RawInput
	}
	input := stdio.Object{}
	if u.Title != "" {
		input["title"] = u.Title
	}
	if titleIsCommand && u.ToolKind == "execute" && u.Title != "" {
		input = stdio.Object{"command": u.Title}
	}
	var changes []stdio.Object
	for _, b := range u.blocks() {
		if b.Type == "diff" {
			changes = append(changes, stdio.Object{"path": b.Path, "oldText": b.OldText, "newText": b.NewText})
		}
	}
	switch {
	case len(changes) > 0:
		input["changes"] = changes
	case len(u.Locations) > 0:
		input["path"] = u.Locations[0].Path
	}
	return stdio.Encode(input)
}

// output returns the agent's own output, or otherwise the text in the update that
// ends the call. The text of earlier updates is not part of the result.
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
		return stdio.Encode(strings.Join(texts, "\n"))
	}
	return stdio.Encode(stdio.Object{"status": last.Status})
}
