package opencode

import (
	"encoding/json"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// reasons are OpenCode's words for the end of a step that are the protocol's.
var reasons = map[string]protocol.FinishReason{
	"stop":           protocol.FinishStop,
	"length":         protocol.FinishLength,
	"content-filter": protocol.FinishContentFilter,
	"tool-calls":     protocol.FinishToolCalls,
}

// outcome is how a turn ended that is idle.
func (t *turn) outcome() agenthost.Outcome {
	failure := t.failure
	if failure == nil && t.last != nil {
		failure = t.last.Error
	}
	switch {
	case failure != nil && failure.Name == nameAborted: // in a terminal, by somebody else
		return agenthost.Outcome{FinishReason: protocol.FinishOther, Reason: protocol.ReasonAborted}
	case failure != nil && failure.Name == "MessageOutputLengthError":
		return agenthost.Outcome{FinishReason: protocol.FinishLength}
	case failure != nil:
		return agenthost.Outcome{FinishReason: protocol.FinishError, Err: failure.words()}
	case t.last == nil:
		return agenthost.Outcome{FinishReason: protocol.FinishError, Err: "The agent took the prompt and did nothing"}
	case t.last.Time.Completed == 0:
		return agenthost.Outcome{FinishReason: protocol.FinishError, Err: "The agent broke off without saying why"}
	}
	finish := t.finish
	if t.last.Finish != "" {
		finish = t.last.Finish
	}
	if reason, known := reasons[finish]; known {
		return agenthost.Outcome{FinishReason: reason}
	}
	return agenthost.Outcome{FinishReason: protocol.FinishOther}
}

// usage is what the steps of the turn cost, sub-agents' included; nil without
// any.
func (t *turn) usage() json.RawMessage {
	if len(t.spent) == 0 {
		return nil
	}
	var sum struct {
		Input     int64 `json:"inputTokens"`
		Output    int64 `json:"outputTokens"`
		Total     int64 `json:"totalTokens"`
		Reasoning int64 `json:"reasoningTokens"`
		Cached    int64 `json:"cachedInputTokens"`
	}
	for _, s := range t.spent {
		sum.Input += s.Input + s.Cache.Read + s.Cache.Write
		sum.Output += s.Output
		sum.Reasoning += s.Reasoning
		sum.Cached += s.Cache.Read
	}
	sum.Total = sum.Input + sum.Output + sum.Reasoning
	encoded, err := json.Marshal(sum)
	if err != nil {
		return nil
	}
	return encoded
}
