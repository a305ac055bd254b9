package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// outcome reads is_error, terminal_reason and api_error_status: the subtype is
// "success" for errors of the model's API as well.
func (r *result) outcome() agenthost.Outcome {
	switch {
	case strings.HasPrefix(r.TerminalReason, "aborted_"):
		return aborted()
	case r.IsError || r.APIErrorStatus != 0 || !finishes(r.TerminalReason):
		return agenthost.Outcome{FinishReason: protocol.FinishError, Err: r.words()}
	}
	return agenthost.Outcome{FinishReason: finishReasons[r.StopReason]}
}

// finishes tells the terminal reasons of a turn that is not cut short.
func finishes(reason string) bool {
	switch reason {
	case "", "completed", "stop_hook_prevented", "hook_stopped", "tool_deferred", "background_requested":
		return true
	}
	return false
}

// finishReasons of the model; "" is stop.
var finishReasons = map[string]protocol.FinishReason{
	"end_turn":   protocol.FinishStop,
	"max_tokens": protocol.FinishLength,
	"refusal":    protocol.FinishContentFilter,
}

func (r *result) words() string {
	words := cmp.Or(r.Result, strings.Join(r.Errors, "\n"), "The agent reports an error")
	if r.Result == "" && r.TerminalReason != "" {
		words += fmt.Sprintf(" (%s)", r.TerminalReason)
	}
	return words
}

// spent is what the results of a turn have cost.
type spent struct {
	known bool
	total modelTokens
}

// add prefers the count by model: it has the sub-agents in it.
func (s *spent) add(r *result) {
	s.known = true
	models := r.SinceLast
	if len(models) == 0 {
		models = map[string]modelTokens{"": {
			Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead, CacheCreation: r.Usage.CacheCreation,
		}}
	}
	for _, m := range models {
		s.total.Input += m.Input
		s.total.Output += m.Output
		s.total.CacheRead += m.CacheRead
		s.total.CacheCreation += m.CacheCreation
		s.total.Thinking += m.Thinking
		s.total.Cost += m.Cost
	}
}

// usage has the names of the AI SDK; its input tokens include the cached ones.
type usage struct {
	InputTokens       int64   `json:"inputTokens"`
	OutputTokens      int64   `json:"outputTokens"`
	TotalTokens       int64   `json:"totalTokens"`
	CachedInputTokens int64   `json:"cachedInputTokens"`
	ReasoningTokens   int64   `json:"reasoningTokens"`
	CostUSD           float64 `json:"costUSD"`
}

func (s *spent) json() json.RawMessage {
	if !s.known {
		return nil
	}
	input := s.total.Input + s.total.CacheRead + s.total.CacheCreation
	raw, err := json.Marshal(usage{
		InputTokens:       input,
		OutputTokens:      s.total.Output,
		TotalTokens:       input + s.total.Output,
		CachedInputTokens: s.total.CacheRead,
		ReasoningTokens:   s.total.Thinking,
		CostUSD:           math.Round(s.total.Cost*1e9) / 1e9,
	})
	if err != nil {
		return nil
	}
	return raw
}
