package acp

import (
	"cmp"
	"encoding/json"
	"math"

	sdk "github.com/coder/acp-go-sdk"

	"bellhop/agenthost/provider/stdio"
)

// spending follows what a session has cost. Agents report it for the whole session, in usage updates.
type spending struct {
	known   bool    // the session is new, or the agent has reported its cost
	dollars float64 // since the session was created
}

// report returns what the session cost since the report before. It returns 0 for the first report of a
// session that was loaded, because the turns before are in it, and for other currencies.
func (s *spending) report(raw json.RawMessage) float64 {
	var cost struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	}
	if json.Unmarshal(raw, &cost) != nil || cost.Currency != "USD" || cost.Amount < 0 {
		return 0
	}
	more := cost.Amount - s.dollars
	if !s.known {
		more = 0
	}
	s.known, s.dollars = true, cost.Amount
	return max(more, 0)
}

// used is what a turn used, as far as its usage updates report it.
type used struct {
	context, window int64
	dollars         float64
}

// usage combines the reports of the agent to the members of protocol.Usage: the protocol's usage, the quota
// that several agents add, and the usage updates.
func usage(response sdk.PromptResponse, used used) json.RawMessage {
	all := stdio.Object{}
	var quota struct {
		Quota struct {
			Tokens map[string]int64 `json:"token_count"`
		} `json:"quota"`
	}
	if json.Unmarshal(stdio.Encode(response.Meta), &quota) == nil {
		for name, count := range quota.Quota.Tokens {
			all[cmp.Or(map[string]string{
				"input_tokens": "inputTokens", "output_tokens": "outputTokens", "total_tokens": "totalTokens",
				"reasoningOutputTokens": "reasoningTokens",
			}[name], name)] = count
		}
	}
	if u := response.Usage; u != nil {
		all["inputTokens"], all["outputTokens"], all["totalTokens"] = u.InputTokens, u.OutputTokens, u.TotalTokens
		if u.CachedReadTokens != nil {
			all["cachedInputTokens"] = *u.CachedReadTokens
		}
		if u.ThoughtTokens != nil {
			all["reasoningTokens"] = *u.ThoughtTokens
		}
	}
	if used.dollars > 0 {
		all["costUSD"] = math.Round(used.dollars*1e9) / 1e9
	}
	if used.context > 0 {
		all["contextTokens"] = used.context
	}
	if used.context > 0 && used.window > 0 {
		all["contextWindow"] = used.window
	}
	if len(all) == 0 {
		return nil
	}
	return stdio.Encode(all)
}
