package protocol

import (
	"encoding/json"
	"math"
)

// Usage is what a turn used. It is read from the object totalUsage of a finish event, which has the member
// names of the AI SDK and three more: costUSD, contextTokens, contextWindow. Agents report different
// members; 0 = not reported.
type Usage struct {
	InputTokens       int64   `json:"inputTokens,omitempty"` // includes those from the cache
	CachedInputTokens int64   `json:"cachedInputTokens,omitempty"`
	OutputTokens      int64   `json:"outputTokens,omitempty"`
	ReasoningTokens   int64   `json:"reasoningTokens,omitempty"`
	TotalTokens       int64   `json:"totalTokens,omitempty"`
	CostUSD           float64 `json:"costUSD,omitempty"`       // US dollars, as the agent estimates them
	ContextTokens     int64   `json:"contextTokens,omitempty"` // in the model's context after the turn
	ContextWindow     int64   `json:"contextWindow,omitempty"` // how many tokens the context can hold
}

// TaskUsage is the response to GET /api/tasks/:id/usage of a broker: the sums over a task's closed turns.
type TaskUsage struct {
	Turns      int   `json:"turns"`      // closed turns whose agent reported what they used
	Unreported int   `json:"unreported"` // closed turns whose agent did not
	Usage      Usage `json:"usage"`      // sums; the context is that of the newest turn which reported one
}

// maxUsage limits each member of a Usage: a greater number is no count of tokens, and sums could overflow.
const maxUsage = 1e15

// ReadUsage reads what an agent reported. A member that is no number, negative or over 10^15 counts as not
// reported. It returns false if nothing remains.
func ReadUsage(raw json.RawMessage) (Usage, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return Usage{}, false
	}
	number := func(name string) float64 {
		var n float64
		if json.Unmarshal(members[name], &n) != nil || !(n > 0 && n <= maxUsage) {
			return 0
		}
		return n
	}
	count := func(name string) int64 { return int64(math.Round(number(name))) }
	u := Usage{
		InputTokens: count("inputTokens"), CachedInputTokens: count("cachedInputTokens"),
		OutputTokens: count("outputTokens"), ReasoningTokens: count("reasoningTokens"),
		TotalTokens: count("totalTokens"), CostUSD: number("costUSD"),
		ContextTokens: count("contextTokens"), ContextWindow: count("contextWindow"),
	}
	return u, u != Usage{}
}

// Add adds what a later turn used. Its context replaces the one before.
func (u *Usage) Add(later Usage) {
	u.InputTokens += later.InputTokens
	u.CachedInputTokens += later.CachedInputTokens
	u.OutputTokens += later.OutputTokens
	u.ReasoningTokens += later.ReasoningTokens
	u.TotalTokens += later.TotalTokens
	u.CostUSD = math.Round((u.CostUSD+later.CostUSD)*1e9) / 1e9
	if later.ContextTokens > 0 {
		u.ContextTokens, u.ContextWindow = later.ContextTokens, later.ContextWindow
	}
}
