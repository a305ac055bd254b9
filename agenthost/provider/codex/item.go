package codex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"bellhop/agenthost/provider/stdio"
)

// item maps the start or the end of an item.
func (t *turn) item(completed bool, raw json.RawMessage) error {
	var it item
	if readable := json.Unmarshal(raw, &it) == nil; !readable {
		t.Skip("an item that cannot be read")
		return nil
	}
	switch it.Type {
	case "agentMessage", "plan":
		if completed {
			return t.blocks.complete(it.ID, it.Text)
		}
		return t.blocks.end("")
	case "reasoning":
		return t.completeReasoning(completed, it)
	case "contextCompaction":
		if completed {
			t.Out.Notice("info", "The agent has shortened what it remembers of the session")
		}
		return nil
	}
	return t.toolItem(completed, raw)
}

// completeReasoning ends reasoning. Reasoning that was not streamed is shown at
// once.
func (t *turn) completeReasoning(completed bool, it item) error {
	if !completed {
		return nil
	}
	if t.blocks.reasoningItem != it.ID && len(it.Summary) > 0 {
		if err := t.blocks.reason(it.ID, 0, strings.Join(it.Summary, "\n\n")); err != nil {
			return err
		}
	}
	if t.blocks.reasoningItem != it.ID {
		return nil
	}
	return t.blocks.end("")
}

// toolItem maps an item that is a tool call.
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
	if err != nil || !completed {
		return err
	}
	output, failed := it.outcome()
	if it.Status == "declined" {
		c.SetDenied(true)
	}
	return t.Result(c, output, failed)
}

// tool returns the call of the item. name is "" if the item is not a call.
func (it *item) tool() (name string, input json.RawMessage) {
	switch it.Type {
	case "commandExecution":
		return "shell", stdio.Encode(stdio.Object{"command": it.Command, "cwd": it.Cwd})
	case "fileChange":
		return "apply_patch", stdio.Encode(stdio.Object{"changes": it.Changes})
	case "mcpToolCall":
		return "mcp__" + it.Server + "__" + it.Tool, stdio.OrEmpty(it.Arguments)
	case "dynamicToolCall":
		return cmp.Or(it.Tool, "tool"), stdio.OrEmpty(it.Arguments)
	case "webSearch":
		return "web_search", stdio.Encode(stdio.Object{"query": it.Query})
	case "imageView":
		return "view_image", stdio.Encode(stdio.Object{"path": it.Path})
	case "collabAgentToolCall":
		return "spawn_agent", stdio.Encode(stdio.Object{"action": it.Tool, "prompt": it.Prompt})
	}
	return "", nil
}

// outcome returns the output of a completed call. For a command it is the
// aggregated output, because the deltas are lossy.
func (it *item) outcome() (output json.RawMessage, failed bool) {
	failed = it.Status == "failed" || it.Success != nil && !*it.Success
	switch it.Type {
	case "commandExecution":
		text := ""
		if it.AggregatedOutput != nil {
			text = *it.AggregatedOutput
		}
		return stdio.Encode(stdio.Object{"output": text, "exitCode": it.ExitCode}), failed
	case "mcpToolCall":
		if it.Error != nil {
			return stdio.Encode(it.Error.Message), true
		}
		return stdio.OrEmpty(it.Result), failed
	case "dynamicToolCall":
		return stdio.OrEmpty(it.ContentItems), failed
	}
	return stdio.Encode(stdio.Object{"status": cmp.Or(it.Status, "completed")}), failed
}

// announce shows a call once, by its item.
func (t *turn) announce(id, name string, input json.RawMessage) (*stdio.Call, error) {
	if c := t.Find(id); c != nil {
		return c, nil
	}
	if id == "" {
		id = fmt.Sprintf("call_%d", len(t.Calls())+1)
	}
	c := &stdio.Call{ID: id, Name: name, Input: input}
	if err := t.blocks.end(""); err != nil {
		return c, err
	}
	return c, t.Announce(c)
}
