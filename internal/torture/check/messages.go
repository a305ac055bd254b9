package check

import (
	"fmt"
	"reflect"
	"slices"
)

// Rules of what users read.
const (
	ruleMessage   = "a message that was checked in is kept"
	ruleAnswer    = "an event's content has one message"
	ruleDisplay   = "messages are in the order of their events"
	ruleDisplayed = "the broker answers with its rows"
	ruleSeen      = "what a reader saw as final is stored"
	ruleStream    = "a stream has no holes and no repetitions"
)

// users: every confirmed message is stored once, with its text.
func (c *checker) users() {
	mine := map[string]Message{}
	for _, m := range c.Messages {
		if m.Role != "USER" {
			continue
		}
		if _, twice := mine[m.ID]; twice {
			c.report(ruleDoubled, "message %s has two rows", m.ID)
		}
		mine[m.ID] = m
		if m.Status != "SENT" && m.Status != "ERROR" {
			c.report(ruleMessage, "message %s is %s", m.ID, m.Status)
		}
	}
	for _, s := range c.Sent {
		m, ok := mine[s.MessageID]
		switch {
		case !ok && c.DatabaseRestores > 0 && !c.begun(s):
			// Only the database had it: a host keeps the prompts of turns that it has begun.
		case !ok && len(s.Turns) > 0:
			c.report(ruleMessage, "message %s is lost", s.MessageID)
		case ok && m.Text != s.Text:
			c.report(ruleMessage, "message %s is %q, sent was %q", s.MessageID, m.Text, s.Text)
		case ok && m.Status == "ERROR" && c.started(m.Turn):
			c.report(ruleMessage, "message %s is marked ERROR, its turn %s ran", s.MessageID, m.Turn)
		}
		delete(mine, s.MessageID)
	}
	for id := range mine {
		c.report(ruleInvented, "no user sent message %s", id)
	}
}

// begun reports whether a host has begun a turn of the message, by its journal or by the agent's
// own ledger.
func (c *checker) begun(m Sent) bool {
	return slices.ContainsFunc(c.turnsOf(m), c.started) ||
		slices.ContainsFunc(c.Prompts, func(p LedgerEntry) bool { return p.Label == m.Label && p.Times > 0 })
}

func (c *checker) started(turn string) bool {
	return slices.ContainsFunc(c.HostTurns, func(t HostTurn) bool { return t.ID == turn && t.Started })
}

// answers: every text and every use of a tool has one message, in the order of the events.
func (c *checker) answers() {
	texts, tools := map[string]Message{}, map[string][]Tool{}
	uses := c.toolUses()
	var last Cursor
	for _, m := range c.Messages {
		if m.Role != "ASSISTANT" {
			continue
		}
		if at := c.stored[m.EventID].At; at.less(last) {
			c.report(ruleDisplay, "message %s of event %v comes after that of %v", m.ID, at, last)
		} else {
			last = at
		}
		for _, tool := range m.Tools {
			if uses[m.Turn+tool.Call]--; uses[m.Turn+tool.Call] < 0 {
				c.report(ruleDoubled, "tool use %s has more messages than events", tool.Call)
			}
			tools[m.Turn+tool.Call] = append(tools[m.Turn+tool.Call], tool)
		}
		if len(m.Tools) > 0 {
			continue
		}
		if _, twice := texts[m.EventID]; twice {
			c.report(ruleDoubled, "event %s has two messages", m.EventID)
		}
		texts[m.EventID] = m
	}
	again := c.settledAgain()
	ended := endedTools(tools)
	for _, row := range c.inOrder() {
		switch {
		case row.Type == ToolCall:
			if got, _ := row.content(); len(tools[row.Turn+got.Call]) == 0 {
				c.report(ruleAnswer, "tool use %s of event %v has no message", got.Call, row.At)
			}
		case !again[row.ID]:
			c.answer(row, texts, ended)
		}
	}
	for id := range texts {
		c.report(ruleInvented, "a message of event %s, which is no text", id)
	}
}

// toolUses counts the calls of each tool use: a turn that ran again has them again.
func (c *checker) toolUses() map[string]int {
	uses := map[string]int{}
	for _, row := range c.inOrder() {
		if got, _ := row.content(); row.Type == ToolCall {
			uses[row.Turn+got.Call]++
		}
	}
	return uses
}

// settledAgain returns the results that a host with a restored journal wrote for tools of a turn
// that had ended. They change no message: the first result stays.
func (c *checker) settledAgain() map[string]bool {
	again, running, ended := map[string]bool{}, map[string]int{}, map[string]bool{}
	for _, row := range c.inOrder() {
		got, _ := row.content()
		use := row.Turn + got.Call
		switch {
		case row.Type == Finish:
			ended[row.Turn] = true
		case row.Type == ToolCall:
			running[use]++
		case row.Type == ToolResult && running[use] > 0:
			running[use]--
		case row.Type == ToolResult:
			again[row.ID] = ended[row.Turn] && c.JournalRestores > 0
		}
	}
	return again
}

// endedTools returns the tool uses that have a result. A turn that ran again has one for each run,
// in the order of the results.
func endedTools(tools map[string][]Tool) map[string][]Tool {
	ended := map[string][]Tool{}
	for use, list := range tools {
		for _, tool := range list {
			if tool.State != "" && tool.State != "running" && tool.State != "unknown" {
				ended[use] = append(ended[use], tool)
			}
		}
	}
	return ended
}

// answer compares a text or a result with its message, and takes that off the texts or tools.
func (c *checker) answer(row Event, texts map[string]Message, tools map[string][]Tool) {
	got, _ := row.content()
	switch row.Type {
	case Text:
		m, ok := texts[row.ID]
		if !ok || m.Text != got.Text || m.Turn != row.Turn {
			c.report(ruleAnswer, "text %v of turn %s is %q; its message, of turn %q, is %q", row.At, row.Turn, got.Text,
				m.Turn, m.Text)
		}
		delete(texts, row.ID)
	case ToolResult:
		use := row.Turn + got.Call
		if len(tools[use]) == 0 {
			c.report(ruleAnswer, "tool use %s ended with %q; no message has that end", got.Call, got.Text)
			return
		}
		tool := tools[use][0]
		tools[use] = tools[use][1:]
		if plainText([]byte(tool.Output)) != got.Text {
			c.report(ruleAnswer, "tool use %s ended with %q; its message is %s: %s", got.Call, got.Text, tool.State, tool.Output)
		}
	}
}

// displayed: HTTP shows exactly the rows.
func (c *checker) displayed() {
	if len(c.Displayed) != len(c.Messages) {
		c.report(ruleDisplayed, "%d messages are served, %d are stored", len(c.Displayed), len(c.Messages))
		return
	}
	for i, m := range c.Messages {
		if got := c.Displayed[i]; !reflect.DeepEqual(got, m) {
			c.report(ruleDisplayed, "served is %s, stored is %s", brief(got), brief(m))
		}
	}
}

func brief(m Message) string { return fmt.Sprintf("%+v", m) }
