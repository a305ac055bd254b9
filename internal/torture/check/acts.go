package check

import "slices"

// Rules of what users do.
const (
	ruleInterrupt = "an interrupt stops its turn alone"
	ruleToken     = "a token opens its own session alone"
)

// acts: of what users ask for, that happens, and to what they named.
func (c *checker) acts() {
	for _, other := range c.Trespasses {
		c.report(ruleToken, "a stream token opened session %s", other)
	}
	for _, m := range c.Sent {
		for _, turn := range c.turnsOf(m) {
			aborted := slices.ContainsFunc(c.Turns, func(t BrokerTurn) bool { return t.ID == turn && t.Reason == "aborted" })
			if aborted && !m.Interrupted && c.JournalRestores+c.DatabaseRestores == 0 {
				c.report(ruleInterrupt, "turn %s of %s was aborted, its user did not interrupt it", turn, m.MessageID)
			}
		}
	}
}
