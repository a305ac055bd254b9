package codex

import (
	"cmp"
	"encoding/json"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// Handle reports one message of the program to the host. It returns an outcome if the
// message ends the turn.
func (t *turn) Handle(m message) (*agenthost.Outcome, error) {
	if outcome := t.lifecycle(m); outcome != nil {
		return outcome, nil
	}
	switch {
	case m.Method == "":
		return nil, nil
	case m.isRequest():
		return nil, t.serverRequest(m)
	}
	var params parameters
	if err := json.Unmarshal(m.Params, &params); err != nil && len(m.Params) > 0 {
		t.Skip("a message that cannot be read: " + stdio.Excerpt([]byte(m.Method)))
		return nil, nil
	}
	if params.ThreadID != "" && params.ThreadID != t.connection.thread {
		return nil, t.subAgent(m.Method, params)
	}
	if params.TurnID != "" && params.TurnID != t.id {
		return nil, nil // a late message of an earlier turn
	}
	return nil, t.notification(m.Method, params)
}

// lifecycle records the turn's id and returns the outcome if the message ends the turn.
func (t *turn) lifecycle(m message) *agenthost.Outcome {
	switch {
	case m.Method == "" && string(m.ID) == t.request:
		return t.accepted(m)
	case m.Method == "turn/started", m.Method == "turn/completed":
		var params parameters
		if json.Unmarshal(m.Params, &params) != nil || params.Turn == nil || params.ThreadID != t.connection.thread {
			return nil
		}
		if m.Method == "turn/started" {
			t.id = cmp.Or(t.id, params.Turn.ID)
			return nil
		}
		if params.Turn.ID == t.id {
			return outcome(params.Turn)
		}
	}
	return nil
}

// accepted handles the response to turn/start. It returns an outcome if the program
// refused the prompt.
func (t *turn) accepted(m message) *agenthost.Outcome {
	var response struct {
		Turn turnInfo `json:"turn"`
	}
	switch {
	case m.Error != nil:
		return stdio.Failure("The agent refuses the prompt: " + m.Error.Message)
	case json.Unmarshal(m.Result, &response) != nil || response.Turn.ID == "":
		return stdio.Failure("The agent's response to the prompt is unknown")
	}
	t.id = cmp.Or(t.id, response.Turn.ID)
	return nil
}

func outcome(turn *turnInfo) *agenthost.Outcome {
	switch turn.Status {
	case "interrupted":
		return stdio.Aborted()
	case "failed":
		return stdio.Failure(turn.Error.description())
	default:
		return &agenthost.Outcome{FinishReason: protocol.FinishStop}
	}
}

// notification reports a notification of the turn to the host.
func (t *turn) notification(method string, params parameters) error {
	switch method {
	case "item/agentMessage/delta", "item/plan/delta":
		return t.blocks.text(params.ItemID, params.Delta)
	case "item/reasoning/summaryTextDelta":
		return t.blocks.reason(params.ItemID, params.Index, params.Delta)
	case "item/reasoning/textDelta":
		return t.blocks.reason(params.ItemID, -1, params.Delta)
	case "item/started", "item/completed":
		return t.item(method == "item/completed", params.Item)
	case "serverRequest/resolved":
		t.CancelQuestion(string(params.RequestID), errResolved)
	case "error":
		if params.WillRetry && params.Error != nil {
			t.Out.Notice("warning", params.Error.description())
		}
	case "warning", "guardianWarning", "model/rerouted":
		if text := cmp.Or(params.Message, params.Summary); text != "" {
			t.Out.Notice("warning", text)
		}
	case "thread/tokenUsage/updated":
		t.countTokens(params)
	}
	return nil
}

// subAgent reports a notification of another thread, which belongs to a sub-agent. The
// sub-agent's tool calls act on the workspace and are shown. Its text is for the main
// agent and is not shown.
func (t *turn) subAgent(method string, params parameters) error {
	switch method {
	case "serverRequest/resolved":
		t.CancelQuestion(string(params.RequestID), errResolved)
	case "item/started", "item/completed":
		return t.toolItem(method == "item/completed", params.Item)
	}
	return nil
}

// countTokens computes the usage of the turn: the thread's total minus the total
// before the turn. A resumed thread does not report its earlier total. It is the
// first reported total minus the usage of the first request.
func (t *turn) countTokens(params parameters) {
	if params.TokenUsage == nil {
		return
	}
	c, total := t.connection, params.TokenUsage.Total
	if !c.knowsTotal {
		c.total, c.knowsTotal = total.minus(params.TokenUsage.Last), true
	}
	if !t.knowsBefore {
		t.before, t.knowsBefore = c.total, true
	}
	c.total = total
	cost := total.minus(t.before)
	used := stdio.Object{
		"inputTokens": cost.Input, "cachedInputTokens": cost.Cached,
		"outputTokens": cost.Output, "reasoningTokens": cost.Reasoning, "totalTokens": cost.Total,
		"contextTokens": params.TokenUsage.Last.Total,
	}
	if window := params.TokenUsage.Window; window > 0 {
		used["contextWindow"] = window
	}
	t.usage = stdio.Encode(used)
}
