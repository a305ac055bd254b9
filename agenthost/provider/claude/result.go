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

	model  string // of the main agent's newest request
	newest tokens // of that request
	window int64  // of the model, 0 = unknown
}

// message records a message of the main agent. Sub-agents have contexts of their own.
func (c *cost) message(m *message) {
	if m.Parent == "" && m.chat.Message.Usage != (tokens{}) {
		c.model, c.newest = m.chat.Message.Model, m.chat.Message.Usage
	}
}

// delta records the length of an answer, which its message does not have yet.
func (c *cost) delta(m *message) {
	if m.Parent == "" && m.stream.Event.Type == "message_delta" {
		c.newest.Output = max(c.newest.Output, m.stream.Event.Usage.Output)
	}
}

// context returns how many tokens are in the context after the newest request.
func (t tokens) context() int64 { return t.Input + t.CacheRead + t.CacheCreation + t.Output }

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
	c.window = cmp.Or(models[c.model].Window, c.window)
}

// usage has the members of protocol.Usage, the counts also when they are 0.
type usage struct {
	InputTokens       int64   `json:"inputTokens"`
	OutputTokens      int64   `json:"outputTokens"`
	TotalTokens       int64   `json:"totalTokens"`
	CachedInputTokens int64   `json:"cachedInputTokens"`
	ReasoningTokens   int64   `json:"reasoningTokens"`
	CostUSD           float64 `json:"costUSD"`
	ContextTokens     int64   `json:"contextTokens,omitempty"`
	ContextWindow     int64   `json:"contextWindow,omitempty"`
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
		ContextTokens:     c.newest.context(),
		ContextWindow:     c.window,
	})
}
