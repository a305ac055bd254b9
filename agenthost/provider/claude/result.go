package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/stdio"
	"bellhop/protocol"
)

// outcome reads is_error, terminal_reason and api_error_status, because the subtype
// is "success" for errors of the model's API too.
func (r *result) outcome() agenthost.Outcome {
	switch {
	case strings.HasPrefix(r.TerminalReason, "aborted_"):
		return *stdio.Aborted()
	case r.IsError || r.APIErrorStatus != 0 || !finishes(r.TerminalReason):
		return *stdio.Failure(r.description())
	}
	return agenthost.Outcome{FinishReason: finishReasons[r.StopReason]}
}

// finishes reports whether this terminal reason means a complete turn.
func finishes(reason string) bool {
	switch reason {
	case "", "completed", "stop_hook_prevented", "hook_stopped", "tool_deferred", "background_requested":
		return true
	}
	return false
}

// finishReasons maps the model's finish reasons; a missing one means stop.
var finishReasons = map[string]protocol.FinishReason{
	"end_turn":   protocol.FinishStop,
	"max_tokens": protocol.FinishLength,
	"refusal":    protocol.FinishContentFilter,
}

func (r *result) description() string {
	text := cmp.Or(r.Result, strings.Join(r.Errors, "\n"), "The agent reports an error")
	if r.Result == "" && r.TerminalReason != "" {
		text += fmt.Sprintf(" (%s)", r.TerminalReason)
	}
	return text
}

// cost adds up the tokens and dollars that the results of a turn report.
type cost struct {
	known bool
	total modelTokens
}

// add uses the counts by model if present, because they include the sub-agents.
func (c *cost) add(r *result) {
	c.known = true
	models := r.SinceLast
	if len(models) == 0 {
		models = map[string]modelTokens{"": {
			Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead, CacheCreation: r.Usage.CacheCreation,
		}}
	}
	for _, m := range models {
		c.total.Input += m.Input
		c.total.Output += m.Output
		c.total.CacheRead += m.CacheRead
		c.total.CacheCreation += m.CacheCreation
		c.total.Thinking += m.Thinking
		c.total.Cost += m.Cost
	}
}

// usage has the member names of the AI SDK. Its input tokens include the cached
// ones.
type usage struct {
	InputTokens       int64   `json:"inputTokens"`
	OutputTokens      int64   `json:"outputTokens"`
	TotalTokens       int64   `json:"totalTokens"`
	CachedInputTokens int64   `json:"cachedInputTokens"`
	ReasoningTokens   int64   `json:"reasoningTokens"`
	CostUSD           float64 `json:"costUSD"`
}

func (c *cost) usage() json.RawMessage {
	if !c.known {
		return nil
	}
	input := c.total.Input + c.total.CacheRead + c.total.CacheCreation
	return stdio.Encode(usage{
		InputTokens:       input,
		OutputTokens:      c.total.Output,
		TotalTokens:       input + c.total.Output,
		CachedInputTokens: c.total.CacheRead,
		ReasoningTokens:   c.total.Thinking,
		CostUSD:           math.Round(c.total.Cost*1e9) / 1e9,
	})
}
