package model

import (
	"encoding/json"

	"bellhop/agent"
)

// calls collects the tool calls of a response by the index of their pieces.
type calls struct {
	order []int64
	byKey map[int64]*pieces
}

type pieces struct {
	name      string
	arguments []byte
}

// at returns the call with an index and creates it the first time.
func (c *calls) at(index int64) *pieces {
	if c.byKey == nil {
		c.byKey = map[int64]*pieces{}
	}
	p, ok := c.byKey[index]
	if !ok {
		p = &pieces{}
		c.byKey[index] = p
		c.order = append(c.order, index)
	}
	return p
}

// emit emits the calls. cut means that the response ended at its token limit: then the last
// call may be incomplete.
func (c *calls) emit(cut bool, emit emitFunc) error {
	list := make([]agent.ToolCall, 0, len(c.order))
	for _, index := range c.order {
		call := c.byKey[index].call()
		if call.Problem != "" && cut {
			return errCut
		}
		list = append(list, call)
	}
	for i := range list {
		if !emit(agent.Delta{Call: &list[i]}) {
			return nil
		}
	}
	return nil
}

func (p *pieces) call() agent.ToolCall {
	raw := p.arguments
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		problem := "it is null"
		if err != nil {
			problem = err.Error()
		}
		return agent.ToolCall{Name: p.name, Arguments: json.RawMessage("{}"), Problem: problem}
	}
	return agent.ToolCall{Name: p.name, Arguments: raw}
}

// noOutput replaces an empty result, because some APIs reject empty text.
const noOutput = "(no output)"

func resultText(m agent.Message) string {
	if m.Text == "" {
		return noOutput
	}
	return m.Text
}

const cutNotice = "The model's answer reached its limit of tokens and was cut"
