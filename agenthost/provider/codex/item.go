package codex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"bellhop/agenthost"
)

// call is a tool call of this turn.
type call struct {
	id       string
	name     string
	input    json.RawMessage
	answered bool
	asked    bool // by its MCP server
	denied   bool // under turn.mu
}

// item maps the start or the end of an item.
func (t *turn) item(completed bool, raw json.RawMessage) error {
	var it item
	if readable := json.Unmarshal(raw, &it) == nil; !readable {
		t.skip("an item that cannot be read")
		return nil
	}
	switch it.Type {
	case "agentMessage", "plan":
		if completed {
			return t.speech.complete(it.ID, it.Text)
		}
		return t.speech.end("")
	case "reasoning":
		return t.reasoned(completed, it)
	case "contextCompaction":
		if completed {
			t.out.Notice("info", "The agent has shortened what it remembers of the session")
		}
		return nil
	}
	return t.toolItem(completed, raw)
}

// reasoned ends a reasoning; one that was not streamed is said whole.
func (t *turn) reasoned(completed bool, it item) error {
	if !completed {
		return nil
	}
	if t.speech.thought != it.ID && len(it.Summary) > 0 {
		if err := t.speech.think(it.ID, 0, strings.Join(it.Summary, "\n\n")); err != nil {
			return err
		}
	}
	if t.speech.thought != it.ID {
		return nil
	}
	return t.speech.end("")
}

// toolItem maps an item that is the call of a tool.
func (t *turn) toolItem(completed bool, raw json.RawMessage) error {
	var it item
	if readable := json.Unmarshal(raw, &it) == nil; !readable || it.ID == "" {
		return nil
	}
	name, input := it.tool()
	if name == "" {
		return nil
	}
	c, err := t.announce(it.ID, name, input)
	if err != nil || !completed || c.answered {
		return err
	}
	output, failed := it.outcome()
	if it.Status == "declined" {
		t.deny(c)
	}
	return t.result(c, output, failed)
}

// tool is the call that an item is, "" for none.
func (it *item) tool() (name string, input json.RawMessage) {
	switch it.Type {
	case "commandExecution":
		return "shell", encode(object{"command": it.Command, "cwd": it.Cwd})
	case "fileChange":
		return "apply_patch", encode(object{"changes": it.Changes})
	case "mcpToolCall":
		return "mcp__" + it.Server + "__" + it.Tool, orEmpty(it.Arguments)
	case "dynamicToolCall":
		return cmp.Or(it.Tool, "tool"), orEmpty(it.Arguments)
	case "webSearch":
		return "web_search", encode(object{"query": it.Query})
	case "imageView":
		return "view_image", encode(object{"path": it.Path})
	case "collabAgentToolCall":
		return "spawn_agent", encode(object{"action": it.Tool, "prompt": it.Prompt})
	}
	return "", nil
}

// outcome is what a completed call came to. The output of a command is the
// aggregated one: deltas of it are lossy.
func (it *item) outcome() (output json.RawMessage, failed bool) {
	failed = it.Status == "failed" || it.Success != nil && !*it.Success
	switch it.Type {
	case "commandExecution":
		text := ""
		if it.AggregatedOutput != nil {
			text = *it.AggregatedOutput
		}
		return encode(object{"output": text, "exitCode": it.ExitCode}), failed
	case "mcpToolCall":
		if it.Error != nil {
			return encode(it.Error.Message), true
		}
		return orEmpty(it.Result), failed
	case "dynamicToolCall":
		return orEmpty(it.ContentItems), failed
	}
	return encode(object{"status": cmp.Or(it.Status, "completed")}), failed
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{}`)
	}
	return raw
}

// announce tells of a call once, by its item.
func (t *turn) announce(id, name string, input json.RawMessage) (*call, error) {
	for _, c := range t.calls {
		if c.id == id {
			return c, nil
		}
	}
	if id == "" {
		id = fmt.Sprintf("call_%d", len(t.calls)+1)
	}
	c := &call{id: id, name: name, input: input}
	t.calls = append(t.calls, c)
	if err := t.speech.end(""); err != nil {
		return c, err
	}
	return c, t.out.ToolCall(agenthost.ToolCall{ID: c.id, Name: c.name, Input: c.input})
}

func (t *turn) deny(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.denied = true
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
