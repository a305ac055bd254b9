package opencode

import (
	"cmp"
	"encoding/json"
	"math"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// reasons maps OpenCode's reasons for the end of a step.
var reasons = map[string]protocol.FinishReason{
	"stop":           protocol.FinishStop,
	"length":         protocol.FinishLength,
	"content-filter": protocol.FinishContentFilter,
	"tool-calls":     protocol.FinishToolCalls,
}

// outcome returns how the turn ended, once it is idle.
func (t *turn) outcome() agenthost.Outcome {
	failure := t.failure
	if failure == nil && t.last != nil {
		failure = t.last.Error
	}
	switch {
	case failure != nil && failure.Name == nameAborted: // by a user in a terminal
		return *stdio.Aborted()
	case failure != nil && failure.Name == "MessageOutputLengthError":
		return agenthost.Outcome{FinishReason: protocol.FinishLength}
	case failure != nil:
		return *stdio.Failure(failure.description())
	case t.last == nil && t.sent.err != nil:
		return *stdio.Failure("The prompt was not run: " + t.sent.err.Error())
	case t.last == nil:
		return *stdio.Failure("The agent accepted the prompt and did nothing")
	case t.last.Time.Completed == 0:
		return *stdio.Failure("The agent stopped without a reason")
	}
	reason := reasons[cmp.Or(t.last.Finish, t.finish)]
	return agenthost.Outcome{FinishReason: cmp.Or(reason, protocol.FinishOther)}
}

// step is one request to the model.
type step struct {
	tokens

	dollars float64
}

// spend records what a step cost. OpenCode may report a step twice.
func (t *turn) spend(p *part) { t.spent[p.ID] = step{tokens: p.Tokens, dollars: p.Cost} }

// context returns how many tokens the context of the next step begins with.
func (t tokens) context() int64 {
	return t.Input + t.Cache.Read + t.Cache.Write + t.Output + t.Reasoning
}

// usage returns the total cost of the turn's steps, including sub-agents, with the members of
// protocol.Usage; nil without any step.
func (t *turn) usage() json.RawMessage {
	if len(t.spent) == 0 {
		return nil
	}
	var sum struct {
		Input     int64   `json:"inputTokens"`
		Output    int64   `json:"outputTokens"`
		Total     int64   `json:"totalTokens"`
		Reasoning int64   `json:"reasoningTokens"`
		Cached    int64   `json:"cachedInputTokens"`
		Cost      float64 `json:"costUSD,omitempty"`
		Context   int64   `json:"contextTokens,omitempty"`
	}
	for _, s := range t.spent {
		sum.Input += s.Input + s.Cache.Read + s.Cache.Write
		sum.Output += s.Output
		sum.Reasoning += s.Reasoning
		sum.Cached += s.Cache.Read
		sum.Cost += s.dollars
	}
	sum.Total = sum.Input + sum.Output + sum.Reasoning
	sum.Cost, sum.Context = math.Round(sum.Cost*1e9)/1e9, t.context
	return stdio.Encode(sum)
}
