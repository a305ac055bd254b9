package uistream

import (
	"cmp"
	"encoding/json"
	"slices"
)

func (c *Converter) tool(p *part) []chunk {
	switch p.Type {
	case "tool-input-start":
		if c.called[p.ID] || slices.Contains(c.inputs, p.ID) {
			return nil
		}
		c.inputs = append(c.inputs, p.ID)
		return c.inStep(asDynamic(chunk{Type: p.Type, ToolCallID: p.ID, ToolName: p.ToolName}))
	case "tool-input-delta":
		if c.called[p.ID] || !slices.Contains(c.inputs, p.ID) {
			return nil
		}
		return []chunk{{Type: p.Type, ToolCallID: p.ID, InputTextDelta: &p.Delta}}
	case "tool-call":
		if p.Invalid {
			return c.badCall(p)
		}
		return c.call(&p.call)
	case "tool-result":
		end := chunk{Type: "tool-output-available", Output: p.Output, Preliminary: p.Preliminary}
		if end.Output == nil {
			end.Output = json.RawMessage("null") // undefined in JavaScript
		}
		return c.settle(&p.call, end)
	case "tool-error":
		if c.invalid[p.ToolCallID] {
			return nil // the chunk of the call reported the error already
		}
		return c.settle(&p.call, chunk{Type: "tool-output-error", ErrorText: errorText(p.Error)})
	case "tool-output-denied":
		return c.denied(&p.call)
	case "tool-approval-request":
		return c.request(p)
	case "tool-approval-response":
		return c.response(p)
	}
	return nil
}

// asDynamic marks a chunk of a tool that the page does not declare and the agent has run itself.
func asDynamic(k chunk) chunk {
	k.Dynamic, k.ProviderExecuted = true, true
	return k
}

func (c *Converter) call(k *call) []chunk {
	if c.called[k.ToolCallID] {
		return nil
	}
	c.called[k.ToolCallID] = true
	return c.inStep(asDynamic(chunk{
		Type: "tool-input-available", ToolCallID: k.ToolCallID, ToolName: cmp.Or(k.ToolName, "tool"), Input: inputOf(k),
	}))
}

func inputOf(k *call) json.RawMessage {
	if len(k.Input) == 0 {
		return json.RawMessage("{}")
	}
	return k.Input
}

func (c *Converter) badCall(p *part) []chunk {
	if c.called[p.ToolCallID] {
		return nil
	}
	c.called[p.ToolCallID], c.invalid[p.ToolCallID] = true, true
	return c.inStep(asDynamic(chunk{
		Type: "tool-input-error", ToolCallID: p.ToolCallID, ToolName: p.ToolName,
		Input: inputOf(&p.call), ErrorText: errorText(p.Error),
	}))
}

func (c *Converter) settle(k *call, end chunk) []chunk {
	chunks := c.call(k)
	if c.settled[k.ToolCallID] {
		return chunks
	}
	c.settled[k.ToolCallID] = !end.Preliminary
	end.ToolCallID = k.ToolCallID
	return append(chunks, asDynamic(end))
}

// denied returns an error for version 5, which has no denials.
func (c *Converter) denied(k *call) []chunk {
	if c.version == V5 {
		return c.settle(k, chunk{Type: "tool-output-error", ErrorText: "Denied"})
	}
	chunks := c.call(k)
	if c.settled[k.ToolCallID] {
		return chunks
	}
	c.settled[k.ToolCallID] = true
	return append(chunks, chunk{Type: "tool-output-denied", ToolCallID: k.ToolCallID})
}

func (c *Converter) request(p *part) []chunk {
	if p.ToolCall == nil || c.asked[p.ApprovalID] != nil {
		return nil
	}
	c.asked[p.ApprovalID] = p.ToolCall
	chunks := c.call(p.ToolCall)
	if c.version == V5 {
		data := map[string]any{"state": "open"}
		if p.SecurityWarning != nil {
			data["security_warning"] = p.SecurityWarning
		}
		return append(chunks, c.approval(p.ApprovalID, data))
	}
	return append(chunks, chunk{Type: p.Type, ApprovalID: p.ApprovalID, ToolCallID: p.ToolCall.ToolCallID})
}

// response reports the answer to an approval. For versions without such a chunk,
// the result reports it.
func (c *Converter) response(p *part) []chunk {
	k := c.asked[p.ApprovalID]
	if k == nil || p.Approved == nil {
		return nil
	}
	switch {
	case c.version == V5:
		return []chunk{
			c.approval(p.ApprovalID, map[string]any{"state": "resolved", "approved": *p.Approved, "reason": p.Reason}),
		}
	case c.version == V6 || c.settled[k.ToolCallID]:
		return nil
	}
	return []chunk{{Type: p.Type, ApprovalID: p.ApprovalID, Approved: p.Approved, Reason: p.Reason}}
}

// approval updates a data part in place.
func (c *Converter) approval(id string, data map[string]any) chunk {
	k := c.asked[id]
	data["toolCallId"], data["toolName"], data["input"] = k.ToolCallID, k.ToolName, inputOf(k)
	encoded, err := json.Marshal(data)
	if err != nil {
		encoded = json.RawMessage("{}") // the input is not JSON
	}
	return chunk{Type: "data-approval", ID: id, Data: encoded}
}
