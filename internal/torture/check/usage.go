package check

import (
	"encoding/json"
	"slices"
)

const ruleUsage = "what a turn used is stored once"

// usage: a turn stores what its finish says, and the broker adds up exactly what turns have stored.
func (c *checker) usage() {
	var sum Used
	for _, t := range c.Turns {
		stored, reported := tokens([]byte(t.Usage))
		if t.State == "closed" && reported {
			sum.Turns, sum.Tokens = sum.Turns+1, sum.Tokens+stored
		}
		if t.State == "closed" {
			c.usageOf(t, stored)
		}
	}
	if sum != c.Used {
		c.report(ruleUsage, "the broker says that turns used %+v, they stored %+v", c.Used, sum)
	}
}

func (c *checker) usageOf(t BrokerTurn, stored int64) {
	var said []int64
	for _, row := range c.inOrder() {
		if row.Type == Finish && row.Turn == t.ID {
			var body struct{ TotalUsage json.RawMessage }
			_ = json.Unmarshal([]byte(row.Body), &body) // without one there are no tokens
			n, _ := tokens(body.TotalUsage)
			said = append(said, n)
		}
	}
	if len(said) > 0 && !slices.Contains(said, stored) && (c.JournalRestores == 0 || t.Reason != "host-lost") {
		c.report(ruleUsage, "turn %s used %d tokens by its finish, %d are stored", t.ID, said[0], stored)
	}
	if t.FinishReason != "stop" || c.JournalRestores > 0 {
		return
	}
	for _, m := range c.Sent {
		if slices.Contains(c.turnsOf(m), t.ID) && m.Tokens != stored {
			c.report(ruleUsage, "turn %s of %s used %d tokens by its script, %d are stored", t.ID, m.MessageID, m.Tokens, stored)
		}
	}
}

// tokens returns the outputTokens of a usage, and whether it has any.
func tokens(usage []byte) (n int64, reported bool) {
	var known struct{ OutputTokens *int64 }
	if json.Unmarshal(usage, &known) != nil || known.OutputTokens == nil {
		return 0, false
	}
	return *known.OutputTokens, true
}
