package e2e

import (
	"encoding/json"
	"slices"

	"bellhop/protocol"
)

// Rules of the rows that users read.
const (
	ruleMessage = "a message that was checked in is kept"
	ruleText    = "texts are stored byte for byte"
	ruleTool    = "a tool's use has its row"
	ruleDisplay = "messages are shown in the order of their events"
	ruleFeed    = "a feed sends every change, once, in order"
)

// users: every message that a user sent is stored once, and is delivered if its turn began.
func (c *checker) users() {
	mine := map[string]protocol.Message{}
	for _, m := range c.Messages {
		if m.Role != protocol.RoleUser {
			continue
		}
		mine[m.ID] = m
		if m.Status == protocol.MessageSending {
			c.report(ruleMessage, "message %s is still SENDING", m.ID)
		}
		if m.Status == protocol.MessageError && c.began(m.TurnID) {
			c.report(ruleMessage, "message %s is marked ERROR, but its turn %s began", m.ID, m.TurnID)
		}
	}
	for _, s := range c.Sent {
		m, ok := mine[s.MessageID]
		switch {
		case !ok:
			c.report(ruleMessage, "message %s is lost", s.MessageID)
		case m.Message != s.Text:
			c.report(ruleMessage, "message %s is %q, sent was %q", s.MessageID, m.Message, s.Text)
		case m.TurnID != s.TurnID:
			c.report(ruleMessage, "message %s is of turn %s, the check-in returned %s", s.MessageID, m.TurnID, s.TurnID)
		}
		delete(mine, s.MessageID)
	}
	for id, m := range mine {
		c.report(ruleMessage, "message %s (%q) was never checked in", id, m.Message)
	}
}

func (c *checker) began(turn string) bool {
	for _, t := range c.HostTurns {
		if t.ID == turn {
			return t.Started
		}
	}
	return false
}

// texts: every text has one ASSISTANT row, and there are no other such rows.
func (c *checker) texts() {
	rows := map[string]protocol.Message{}
	var last protocol.Cursor
	for _, m := range c.Messages {
		if m.Role != protocol.RoleAssistant || len(m.Artifacts) > 0 {
			continue
		}
		if _, twice := rows[m.EventID]; twice {
			c.report(ruleDoubled, "event %s has two messages", m.EventID)
		}
		rows[m.EventID] = m
		e, ok := c.byID[m.EventID]
		if !ok {
			c.report(ruleInvented, "message %s is of no event", m.ID)
			continue
		}
		if e.Cursor.Less(last) {
			c.report(ruleDisplay, "message %s of event %v is shown after that of %v", m.ID, e.Cursor, last)
		}
		last = e.Cursor
	}
	for _, e := range c.Journal {
		text, ok := textOf(e)
		if !ok || text == "" {
			continue
		}
		m, stored := rows[e.ID]
		switch {
		case !stored:
			c.report(ruleText, "text %v has no message", e.Cursor)
		case m.Message != text || m.TurnID != e.TurnID:
			c.report(ruleText, "text %v of turn %s is %q; its message, of turn %s, is %q", e.Cursor, e.TurnID, text,
				m.TurnID, m.Message)
		}
	}
}

func textOf(e event) (string, bool) {
	if e.Type != protocol.EventText {
		return "", false
	}
	var body struct{ Text string }
	err := json.Unmarshal([]byte(e.Body), &body)
	return body.Text, err == nil
}

// toolKey names a use of a tool: models reuse ids in later turns.
type toolKey struct{ turn, call string }

// tools: every use of a tool has one TOOL_USE row with call and result.
func (c *checker) tools() {
	rows := map[toolKey]protocol.ToolUse{}
	for _, m := range c.Messages {
		for _, artifact := range m.Artifacts {
			if artifact.Type != protocol.ArtifactToolUse {
				continue
			}
			var use protocol.ToolUse
			if err := json.Unmarshal(artifact.Content, &use); err != nil {
				c.report(ruleTool, "message %s: %v", m.ID, err)
				continue
			}
			key := toolKey{m.TurnID, use.ToolCallID}
			if _, twice := rows[key]; twice {
				c.report(ruleDoubled, "tool use %v has two rows", key)
			}
			rows[key] = use
		}
	}
	used := map[toolKey]bool{}
	for _, e := range c.Journal {
		if e.Type != protocol.EventToolCall && e.Type != protocol.EventToolResult {
			continue
		}
		body, err := protocol.ParseEvent([]byte(e.Body))
		if err != nil {
			c.report(ruleBody, "event %v: %v", e.Cursor, err)
			continue
		}
		key := toolKey{e.TurnID, body.ToolCallID}
		used[key] = true
		use, ok := rows[key]
		if !ok {
			c.report(ruleTool, "tool use %v of event %v has no row", key, e.Cursor)
			continue
		}
		c.half(e, body, use)
	}
	for key := range rows {
		if !used[key] {
			c.report(ruleInvented, "tool use %v is of no event", key)
		}
	}
}

// half compares one event of a tool's use with its row.
func (c *checker) half(e event, body *protocol.Event, use protocol.ToolUse) {
	if use.ToolName != body.ToolName {
		c.report(ruleTool, "event %v names tool %q, its row %q", e.Cursor, body.ToolName, use.ToolName)
	}
	if e.Type == protocol.EventToolCall {
		if !sameJSON(string(body.Input), string(use.Input)) {
			c.report(ruleTool, "event %v has input %s, its row %s", e.Cursor, body.Input, use.Input)
		}
		return
	}
	want := protocol.ToolDone
	switch {
	case body.Denied:
		want = protocol.ToolDenied
	case body.IsError:
		want = protocol.ToolError
	}
	if use.State != want {
		c.report(ruleTool, "event %v makes its row %s, it is %s", e.Cursor, want, use.State)
	}
	if len(body.Output) > 0 && !sameJSON(string(body.Output), string(use.Output)) {
		c.report(ruleTool, "event %v has output %s, its row %s", e.Cursor, body.Output, use.Output)
	}
}

// feed: across all reconnects, the feed delivered the current state of every message.
func (c *checker) feed() {
	f := c.Feed
	if f == nil {
		return
	}
	if f.Resets > 0 {
		c.report(ruleFeed, "%d resets: no change was pruned", f.Resets)
	}
	var last int64
	for _, rev := range f.Revs {
		if rev <= last {
			c.report(ruleFeed, "rev %d after %d", rev, last)
		}
		last = rev
	}
	if last != c.Rev {
		c.report(ruleFeed, "delivered up to rev %d, the task is at %d", last, c.Rev)
	}
	for _, m := range c.Messages {
		delivered, ok := f.Messages[m.ID]
		switch {
		case !ok:
			c.report(ruleFeed, "message %s was not delivered", m.ID)
		case delivered.Rev != m.Rev || delivered.Seq != m.Seq || delivered.Status != m.Status ||
			delivered.Message != m.Message || delivered.TurnID != m.TurnID || !sameArtifacts(delivered, m):
			c.report(ruleFeed, "message %s was delivered as %+v, it is %+v", m.ID, delivered, m)
		}
	}
	if len(f.Messages) != len(c.Messages) {
		c.report(ruleFeed, "%d messages were delivered, %d are stored", len(f.Messages), len(c.Messages))
	}
}

func sameArtifacts(a, b protocol.Message) bool {
	return slices.EqualFunc(a.Artifacts, b.Artifacts, func(x, y protocol.Artifact) bool {
		return x.ID == y.ID && x.Type == y.Type && sameJSON(string(x.Content), string(y.Content))
	})
}
