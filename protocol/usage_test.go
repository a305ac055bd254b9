package protocol_test

import (
	"encoding/json"
	"testing"

	"bellhop/protocol"
)

func TestAUsageIsReadWhateverAnAgentReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raw  string
		want protocol.Usage
	}{
		"every member": {
			`{"inputTokens":10,"cachedInputTokens":4,"outputTokens":20,"reasoningTokens":5,"totalTokens":30,` +
				`"costUSD":0.25,"contextTokens":30,"contextWindow":200000}`,
			protocol.Usage{
				InputTokens: 10, CachedInputTokens: 4, OutputTokens: 20, ReasoningTokens: 5, TotalTokens: 30,
				CostUSD: 0.25, ContextTokens: 30, ContextWindow: 200000,
			},
		},
		"other members": {`{"inputTokens":10,"kWh":3,"details":{"a":1}}`, protocol.Usage{InputTokens: 10}},
		"a fraction":    {`{"outputTokens":1.5e1}`, protocol.Usage{OutputTokens: 15}},
		"wrong types": {
			`{"inputTokens":"10","outputTokens":null,"totalTokens":[1],"contextWindow":9}`, protocol.Usage{ContextWindow: 9},
		},
		"negative":        {`{"inputTokens":-1,"costUSD":-0.5,"outputTokens":2}`, protocol.Usage{OutputTokens: 2}},
		"no count at all": {`{"inputTokens":1e300,"totalTokens":1e15}`, protocol.Usage{TotalTokens: 1e15}},
		"nothing":         {`{}`, protocol.Usage{}},
		"no object":       {`[1]`, protocol.Usage{}},
		"no JSON":         {`{"inputTokens":`, protocol.Usage{}},
		"absent":          {``, protocol.Usage{}},
	} {
		got, ok := protocol.ReadUsage(json.RawMessage(c.raw))
		if got != c.want || ok != (c.want != protocol.Usage{}) {
			t.Errorf("%s: got %+v %v, want %+v", name, got, ok, c.want)
		}
	}
}

func TestUsagesAddUpWithTheNewestContext(t *testing.T) {
	t.Parallel()
	var sum protocol.Usage
	sum.Add(protocol.Usage{
		InputTokens: 1, OutputTokens: 2, TotalTokens: 3, CostUSD: 0.1, ContextTokens: 50, ContextWindow: 100,
	})
	sum.Add(protocol.Usage{InputTokens: 10, CachedInputTokens: 5, CostUSD: 0.2, ContextTokens: 70, ContextWindow: 200})
	sum.Add(protocol.Usage{OutputTokens: 7, ReasoningTokens: 1})
	want := protocol.Usage{
		InputTokens: 11, CachedInputTokens: 5, OutputTokens: 9, ReasoningTokens: 1, TotalTokens: 3, CostUSD: 0.3,
		ContextTokens: 70, ContextWindow: 200,
	}
	if sum != want {
		t.Errorf("got %+v, want %+v", sum, want)
	}
}
