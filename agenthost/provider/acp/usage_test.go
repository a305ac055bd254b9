package acp_test

import (
	"fmt"
	"strings"
	"testing"

	"bellhop/agenthost/provider/providertest"
	"bellhop/protocol"
)

// spent is a usage update of a session that has cost this much so far.
func spent(context int, amount float64, currency string) string {
	return updated(fmt.Sprintf(`{"sessionUpdate":"usage_update","used":%d,"size":1000,"cost":{"amount":%v,"currency":%q}}`,
		context, amount, currency))
}

// again is the script of another turn, whose prompt has this id.
func again(id int, updates string) string {
	return strings.ReplaceAll(prompted+updates+ended, `"id":3`, fmt.Sprintf(`"id":%d`, id))
}

func TestUsage(t *testing.T) {
	t.Parallel()
	reported := strings.Replace(ended, `"end_turn"`, `"end_turn","usage":{"inputTokens":10,"outputTokens":20,`+
		`"totalTokens":30,"thoughtTokens":5,"cachedReadTokens":1}`, 1)
	f := newFixture(t, begun+spent(20, 0.2, "USD")+spent(30, 0.5, "USD")+reported+
		again(4, spent(45, 0.8, "USD"))+again(5, spent(50, 9, "EUR"))+again(6, ""))
	for turn, want := range []protocol.Usage{
		{
			InputTokens: 10, OutputTokens: 20, TotalTokens: 30, ReasoningTokens: 5, CachedInputTokens: 1,
			CostUSD: 0.5, ContextTokens: 30, ContextWindow: 1000,
		},
		{CostUSD: 0.3, ContextTokens: 45, ContextWindow: 1000},
		{ContextTokens: 50, ContextWindow: 1000},
		{},
	} {
		outcome := f.Run(&providertest.Recorder{}, "hello")
		if got, _ := protocol.ReadUsage(outcome.Usage); got != want {
			t.Errorf("turn %d: got %s, want %+v", turn, outcome.Usage, want)
		}
	}
}

func TestTheFirstCostOfALoadedSessionIsNotThatOfItsTurn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, begun+spent(10, 0.5, "USD")+ended+`{"dir":"exit","msg":0}`+"\n",
		initialize+sessionLoad+prompted+spent(20, 0.7, "USD")+ended+again(4, spent(30, 0.8, "USD")))
	for turn, want := range []float64{0.5, 0, 0.1} {
		outcome := f.Run(&providertest.Recorder{}, "hello")
		if got, _ := protocol.ReadUsage(outcome.Usage); got.CostUSD != want {
			t.Errorf("turn %d: got %s, want %v dollars", turn, outcome.Usage, want)
		}
	}
}
