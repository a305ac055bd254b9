package claude

import (
	"cmp"
	"encoding/json"
	"strings"

	"bellhop/agenthost/provider/stdio"
)

// unnamed replaces the id of a call without one.
const unnamed = "call"

// call announces a call of the main agent or of a sub-agent once. The message with
// the call and the request for its permission may arrive in either order.
func (t *turn) call(id, name string, input json.RawMessage) (*stdio.Call, error) {
	id = cmp.Or(id, unnamed)
	if c := t.Find(id); c != nil {
		return c, nil
	}
	if err := t.blocks.beforeCall(); err != nil {
		return nil, err
	}
	c := &stdio.Call{ID: id, Name: cmp.Or(name, "tool"), Input: stdio.OrEmpty(input)}
	return c, t.Announce(c)
}

// result records the result of the call. Not every version of the program reports
// that a call was denied.
func (t *turn) result(c *stdio.Call, output json.RawMessage, isError, rejected bool) error {
	c.SetDenied(isError && (c.Denied() || rejected))
	return t.Result(c, output, isError)
}

// user maps the results of calls. The other parts of the message are the prompt's
// echo, or text from the program to the model.
func (t *turn) user(m *chat) error {
	rejected := map[string]bool{}
	for _, meta := range m.Results {
		rejected[meta.ID] = meta.Decision.Decision == "reject"
	}
	for _, b := range m.blocks() {
		if b.Type != "tool_result" {
			continue
		}
		c := t.Find(cmp.Or(b.ToolUseID, unnamed))
		if c == nil {
			t.Skip("a tool result without its call")
			continue
		}
		if err := t.result(c, plainText(b.Content), b.IsError, rejected[b.ToolUseID]); err != nil {
			return err
		}
	}
	return nil
}

// plainText returns the text of a result. A result with images is not changed.
func plainText(content json.RawMessage) json.RawMessage {
	var text string
	var blocks []block
	switch {
	case len(content) == 0 || string(content) == "null":
	case json.Unmarshal(content, &text) == nil:
	case json.Unmarshal(content, &blocks) == nil:
		var texts []string
		for _, b := range blocks {
			if b.Type != "text" {
				return content
			}
			texts = append(texts, b.Text)
		}
		text = strings.Join(texts, "\n")
	default:
		return content
	}
	return stdio.Encode(text)
}
