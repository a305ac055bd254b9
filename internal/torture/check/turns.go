package check

import (
	"encoding/json"
	"slices"
)

// Rules of turns.
const (
	ruleOpen    = "no turn is open"
	ruleFinish  = "a turn ends exactly once"
	ruleContent = "a turn leaves what its script says"
	rulePrompt  = "a prompt runs at most once"
)

// turns: every turn has ended, and those that started have one finish.
func (c *checker) turns() {
	finishes := map[string][]Event{}
	for _, row := range c.inOrder() {
		if row.Type == Finish {
			finishes[row.Turn] = append(finishes[row.Turn], row)
		}
	}
	for _, t := range c.HostTurns {
		if t.State != "finished" && !c.left(t) {
			c.report(ruleOpen, "turn %s is %s at the host", t.ID, t.State)
		}
		if t.Started && len(finishes[t.ID]) == 0 && !c.forgot(t.ID) {
			c.report(ruleFinish, "turn %s started and has no finish", t.ID)
		}
	}
	for _, t := range c.Turns {
		if t.State != "closed" && !c.unreached(t, finishes[t.ID]) {
			c.report(ruleOpen, "turn %s is %s at the broker", t.ID, t.State)
		}
		c.finish(t, finishes[t.ID])
	}
}

// unreached reports whether the host never had, or has forgotten, a turn that was announced. The
// broker closes such a turn when the last token that could start it has expired. A backup of the
// database that was made in the middle of a check-in has such a turn, too; the message then got
// another turn.
func (c *checker) unreached(t BrokerTurn, finishes []Event) bool {
	known := slices.ContainsFunc(c.HostTurns, func(h HostTurn) bool { return h.ID == t.ID && !c.left(h) })
	given := slices.ContainsFunc(c.Messages, func(m Message) bool {
		return m.ID == t.MessageID && (m.Status == "ERROR" || c.DatabaseRestores > 0 && m.Turn != t.ID)
	})
	return t.State == "announced" && len(finishes) == 0 && !known && (given || c.JournalRestores > 0)
}

// left reports whether a restore of the database has left an announced turn behind: the check-in
// that announced it was of a message that came back with another turn, from the host. No user
// starts it, and it ends when its tokens expire.
func (c *checker) left(t HostTurn) bool {
	return c.DatabaseRestores > 0 && t.State == "announced" && !t.Started &&
		slices.ContainsFunc(c.Turns, func(b BrokerTurn) bool {
			return b.ID == t.ID && b.State == "announced" && slices.ContainsFunc(c.Messages, func(m Message) bool {
				return m.ID == b.MessageID && m.Turn != t.ID && c.started(m.Turn)
			})
		})
}

// forgot reports whether the turn has events in a journal that a restore replaced.
func (c *checker) forgot(turn string) bool {
	for _, list := range [][]Event{c.Forgotten, c.Unsent} {
		if slices.ContainsFunc(list, func(e Event) bool { return e.Turn == turn }) {
			return true
		}
	}
	return false
}

func (c *checker) finish(t BrokerTurn, events []Event) {
	if len(events) > 1+c.JournalRestores {
		c.report(ruleFinish, "turn %s has %d finishes", t.ID, len(events))
	}
	if len(events) == 0 {
		if started := slices.ContainsFunc(c.HostTurns, func(h HostTurn) bool { return h.ID == t.ID && h.Started }); started &&
			c.JournalRestores == 0 {
			c.report(ruleFinish, "turn %s is closed as %s %s, without an event of the host", t.ID, t.FinishReason, t.Reason)
		}
		return
	}
	matches := slices.ContainsFunc(events, func(e Event) bool { return finishOf(e) == t.FinishReason })
	if !matches && (c.JournalRestores == 0 || t.Reason != "host-lost") {
		c.report(ruleFinish, "turn %s ended with %s, the broker says %s %s", t.ID, finishOf(events[0]),
			t.FinishReason, t.Reason)
	}
}

func finishOf(e Event) string {
	var body struct{ FinishReason string }
	if json.Unmarshal([]byte(e.Body), &body) != nil {
		return "unreadable"
	}
	return body.FinishReason
}

// content returns what a row says, if it is one that a script foresees.
func (e Event) content() (Content, bool) {
	var body struct {
		Text       string
		ToolCallID string
		Output     json.RawMessage
	}
	if json.Unmarshal([]byte(e.Body), &body) != nil {
		return Content{Type: "unreadable"}, true
	}
	switch e.Type {
	case Text:
		return Content{Type: Text, Text: body.Text}, true
	case ToolCall:
		return Content{Type: ToolCall, Call: body.ToolCallID}, true
	case ToolResult:
		return Content{Type: ToolResult, Call: body.ToolCallID, Text: plainText(body.Output)}, true
	}
	return Content{}, false
}

// plainText returns the string that raw is in JSON, or raw itself.
func plainText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}

// contents: what a turn left is the beginning of its message's script, and all of it if it ended
// by itself.
func (c *checker) contents() {
	byTurn := map[string][]Event{}
	for _, row := range c.inOrder() {
		byTurn[row.Turn] = append(byTurn[row.Turn], row)
	}
	foreseen := map[string]bool{}
	for _, m := range c.Sent {
		worked := 0
		for _, turn := range c.turnsOf(m) {
			foreseen[turn] = true
			if c.content(m, turn, byTurn[turn]) {
				worked++
			}
		}
		if worked > c.runs() {
			c.report(rulePrompt, "message %s has content of %d turns", m.MessageID, worked)
		}
	}
	for turn, rows := range byTurn {
		if turn != "" && !foreseen[turn] && !c.forgottenTurn(rows) {
			c.report(ruleInvented, "%d events of turn %s, which is of no message", len(rows), turn)
		}
	}
}

// forgottenTurn reports whether the events are the end of a turn that never started, and that no
// restored database knows: its check-in was not answered.
func (c *checker) forgottenTurn(rows []Event) bool {
	return c.DatabaseRestores > 0 && len(rows) == 1 && rows[0].notStarted() && !c.started(rows[0].Turn)
}

// notStarted reports whether the event ends a turn that its host never began.
func (e Event) notStarted() bool {
	var body struct{ FinishReason, Reason string }
	return e.Type == Finish && json.Unmarshal([]byte(e.Body), &body) == nil &&
		body.FinishReason == "other" && body.Reason == "not-started"
}

// turnsOf returns the turns of a message, as the broker and its check-ins name them.
func (c *checker) turnsOf(m Sent) []string {
	ids := slices.Clone(m.Turns)
	for _, t := range c.Turns {
		if t.MessageID == m.MessageID && !slices.Contains(ids, t.ID) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// content compares one turn with the script; it returns whether the turn left anything of it.
func (c *checker) content(m Sent, turn string, rows []Event) bool {
	complete := slices.ContainsFunc(rows, func(e Event) bool { return e.Type == Finish && finishOf(e) == "stop" })
	n, epoch, seen := 0, int64(0), 0
	for _, row := range rows {
		got, relevant := row.content()
		if !relevant {
			continue
		}
		seen++
		due := at(m.Expected, n)
		switch {
		case !complete && due.Type == ToolResult && row.closes(due):
			n++
		case c.JournalRestores > 0 && slices.ContainsFunc(m.Expected, row.closes):
		case c.JournalRestores > 0:
			n, epoch = c.repeated(m, row, got, n, epoch)
		case due != got:
			c.report(ruleContent, "turn %s of %s, event %v: %+v where %+v is due", turn, m.MessageID, row.At, got, due)
			n++
		default:
			n++
		}
	}
	if complete && c.JournalRestores == 0 && n != len(m.Expected) {
		c.report(ruleContent, "turn %s of %s ended by itself after %d of %d events", turn, m.MessageID, n, len(m.Expected))
	}
	return seen > 0
}

// closes reports whether the event is the error with which a host ends a tool that was running
// when its turn ended.
func (e Event) closes(due Content) bool {
	var body struct {
		ToolCallID string
		IsError    bool
	}
	return e.Type == ToolResult && json.Unmarshal([]byte(e.Body), &body) == nil && body.IsError &&
		body.ToolCallID == due.Call
}

// repeated is the rule for a turn that a restored journal may have made to run again, or to
// continue under another epoch: within an epoch its contents are the script's, in its order.
func (c *checker) repeated(m Sent, row Event, got Content, n int, epoch int64) (next int, of int64) {
	if row.At.Epoch != epoch {
		n = 0
	}
	i := slices.Index(m.Expected[min(n, len(m.Expected)):], got)
	if i < 0 {
		c.report(ruleContent, "message %s, event %v: %+v is not in its script after %d others", m.MessageID, row.At, got, n)
		return n, row.At.Epoch
	}
	return n + i + 1, row.At.Epoch
}

func at(list []Content, i int) Content {
	if i < len(list) {
		return list[i]
	}
	return Content{Type: "the end"}
}

// runs is how often a prompt may run: a side that went back to a backup has forgotten that it did.
func (c *checker) runs() int { return 1 + c.JournalRestores + c.DatabaseRestores }

// prompts: the agent itself recorded how often it began a prompt.
func (c *checker) prompts() {
	for _, p := range c.Prompts {
		if p.Times > c.runs() {
			c.report(rulePrompt, "the agent began %s %d times", p.Label, p.Times)
		}
	}
}
