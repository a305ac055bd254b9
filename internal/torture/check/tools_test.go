package check

import (
	"fmt"
	"testing"
)

// A host with a restored journal may close a tool of the script with an error, and no other.
func TestAClosedToolIsOneOfTheScript(t *testing.T) {
	t.Parallel()
	for call, valid := range map[string]bool{"call-label-2": true, "call-of-no-script": false} {
		o := sample()
		s := o.Sessions[0]
		b := &builder{Session: s}
		e := b.event("turn-2", ToolResult, fmt.Sprintf(`"toolCallId":%q,"output":"closed","isError":true`, call))
		s.Rows, s.Served = append(s.Rows, e), append(s.Served, e)
		s.Acknowledged, s.BrokerAt, s.JournalRestores = s.Cursor, s.Cursor, 1
		if found := Run(o); (len(found) == 0) != valid {
			t.Errorf("%s: %v", call, found)
		}
	}
}

// A host that restarts closes the tool that was running with an error. That is no loss, but only
// in a turn that did not end by itself.
func TestAToolThatTheEndOfItsTurnClosedIsNoLoss(t *testing.T) {
	t.Parallel()
	for _, finish := range []string{"other", "stop"} {
		o := sample()
		s := o.Sessions[0]
		ed := &editor{Session: s}
		for _, e := range s.Journal {
			if e.Type == ToolResult && e.Turn == "turn-2" {
				ed.change(e.At, func(x *Event) { x.Body = `{"toolCallId":"call-label-2","output":"closed","isError":true}` })
				ed.changeMessages(func(m Message) bool {
					return m.Turn == e.Turn && len(m.Tools) > 0
				}, func(m *Message) { m.Tools[0].Output = `"closed"` })
			}
			if e.Type == Finish && e.Turn == "turn-2" {
				ed.change(e.At, func(x *Event) { x.Body = fmt.Sprintf(`{"finishReason":%q,"totalUsage":{"outputTokens":3}}`, finish) })
				s.Turns[2].FinishReason = finish
			}
		}
		if found := Run(o); (len(found) == 0) != (finish == "other") {
			t.Errorf("finish %s: %v", finish, found)
		}
	}
}

// A host with a restored journal settles a tool whose result the broker has. The first result
// stays in the message.
func TestAToolThatIsSettledAgainKeepsItsResult(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		restores int
		shown    string
		valid    bool
	}{{1, `"out"`, true}, {0, `"out"`, false}, {1, `"closed"`, false}} {
		o := sample()
		s := o.Sessions[0]
		b := &builder{Session: s}
		e := b.event("turn-2", ToolResult, `"toolCallId":"call-label-2","output":"closed","isError":true`)
		s.Rows, s.Served = append(s.Rows, e), append(s.Served, e)
		s.Acknowledged, s.BrokerAt, s.JournalRestores = s.Cursor, s.Cursor, c.restores
		(&editor{Session: s}).changeMessages(func(m Message) bool {
			return m.Turn == "turn-2" && len(m.Tools) > 0
		}, func(m *Message) { m.Tools[0].Output = c.shown })
		if found := Run(o); (len(found) == 0) != c.valid {
			t.Errorf("%d restores, shown %s: %v", c.restores, c.shown, found)
		}
	}
}
