package e2e

import (
	"bytes"

	"bellhop/protocol"
)

// Rules of events and turns.
const (
	ruleQuiet     = "nothing is under way"
	ruleDense     = "the journal is dense"
	ruleServed    = "the host serves its journal"
	ruleLost      = "no event is lost"
	ruleDoubled   = "no event is doubled"
	ruleInvented  = "no event is invented"
	ruleOrder     = "rows are in the journal's order"
	ruleBody      = "bodies are canonically equal"
	ruleOneFinish = "a turn ends exactly once"
	ruleNoOpen    = "no turn is open"
)

// quiet: all events have arrived and no error was reported.
func (c *checker) quiet() {
	if c.Acknowledged != c.Cursor {
		c.report(ruleQuiet, "the host is at %v, acknowledged is %v", c.Cursor, c.Acknowledged)
	}
	if c.BrokerAt != c.Cursor {
		c.report(ruleQuiet, "the host is at %v, the broker at %v", c.Cursor, c.BrokerAt)
	}
	if c.DeadLetters > 0 {
		c.report(ruleQuiet, "%d dead letters", c.DeadLetters)
	}
	for _, refused := range c.Refused {
		c.report(ruleQuiet, "the broker refused %s", refused)
	}
	if c.OpenAsks > 0 {
		c.report(ruleQuiet, "%d questions are open", c.OpenAsks)
	}
}

// journal: the journal has no gaps within an epoch, and the host serves exactly its events.
func (c *checker) journal() {
	var at protocol.Cursor
	ids := map[string]bool{}
	for _, e := range c.Journal {
		if e.Cursor.Epoch > at.Epoch {
			at = protocol.Cursor{Epoch: e.Cursor.Epoch}
		}
		if at.Seq++; e.Cursor != at {
			c.report(ruleDense, "%v where %v is due", e.Cursor, at)
			at = e.Cursor
		}
		if ids[e.ID] {
			c.report(ruleDense, "event %s is journaled twice", e.ID)
		}
		ids[e.ID] = true
	}
	if at != c.Cursor && len(c.Journal) > 0 {
		c.report(ruleDense, "the journal ends at %v, the session says %v", at, c.Cursor)
	}
	var newest []event
	for _, e := range c.Journal {
		if e.Cursor.Epoch == c.Cursor.Epoch {
			newest = append(newest, e)
		}
	}
	if len(newest) != len(c.Served) {
		c.report(ruleServed, "%d events are served, %d journaled", len(c.Served), len(newest))
		return
	}
	for i, e := range newest {
		if got := c.Served[i]; got.Cursor != e.Cursor || got.Body != e.Body {
			c.report(ruleServed, "at %v: served %s, journaled %s", e.Cursor, got.Body, e.Body)
		}
	}
}

// database: the database has every event of the journal once, in order, with the same body.
func (c *checker) database() {
	rows := map[string]event{}
	places := map[protocol.Cursor]string{}
	for _, row := range c.Rows {
		if _, twice := rows[row.ID]; twice {
			c.report(ruleDoubled, "event %s has two rows", row.ID)
		}
		if other, taken := places[row.Cursor]; taken && !row.Late {
			c.report(ruleDoubled, "events %s and %s are both at %v", other, row.ID, row.Cursor)
		}
		rows[row.ID] = row
		places[row.Cursor] = row.ID
		if row.Late {
			c.report(ruleQuiet, "event %s at %v came late", row.ID, row.Cursor)
		}
	}
	for _, want := range c.Journal {
		row, ok := rows[want.ID]
		if !ok {
			c.report(ruleLost, "event %s (%s) at %v has no row", want.ID, want.Type, want.Cursor)
			continue
		}
		delete(rows, want.ID)
		if row.Cursor != want.Cursor {
			c.report(ruleOrder, "event %s is at %v in the journal, at %v in the database", want.ID, want.Cursor, row.Cursor)
		}
		if row.Type != want.Type || row.TurnID != want.TurnID {
			c.report(ruleBody, "event %s is a %s of turn %q, its row a %s of turn %q", want.ID, want.Type, want.TurnID,
				row.Type, row.TurnID)
		}
		if !sameJSON(row.Body, want.Body) {
			c.report(ruleBody, "event %s: row %s, journal %s", want.ID, row.Body, want.Body)
		}
	}
	for id, row := range rows {
		c.report(ruleInvented, "row %s at %v is in no journal", id, row.Cursor)
	}
}

func sameJSON(a, b string) bool {
	x, err1 := protocol.Canonical([]byte(a))
	y, err2 := protocol.Canonical([]byte(b))
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// turns: every turn ends once, on both sides equally, and only a status follows.
func (c *checker) turns() {
	finishes := map[string][]*event{}
	for i := range c.Journal {
		e := &c.Journal[i]
		switch {
		case e.Type == protocol.EventFinish:
			finishes[e.TurnID] = append(finishes[e.TurnID], e)
		case len(finishes[e.TurnID]) > 0 && e.Type != protocol.EventStatus:
			c.report(ruleOneFinish, "turn %s continues with %s %v after its finish", e.TurnID, e.Type, e.Cursor)
		}
	}
	known := map[string]brokerTurn{}
	for _, t := range c.BrokerTurns {
		known[t.ID] = t
		if t.State != "closed" {
			c.report(ruleNoOpen, "the broker has turn %s as %s", t.ID, t.State)
		}
	}
	if c.OpenTurn != "" {
		c.report(ruleNoOpen, "the broker's task names open turn %s", c.OpenTurn)
	}
	for _, t := range c.HostTurns {
		if t.State != "finished" {
			c.report(ruleNoOpen, "the host has turn %s as %s", t.ID, t.State)
		}
		if n := len(finishes[t.ID]); n != 1 {
			c.report(ruleOneFinish, "turn %s has %d finish events", t.ID, n)
		} else {
			c.sameEnd(finishes[t.ID][0], known)
		}
		delete(finishes, t.ID)
	}
	for id := range finishes {
		c.report(ruleOneFinish, "turn %q has a finish and no row in the journal", id)
	}
}

// sameEnd compares the two records of a turn's end. The broker may have closed a turn before
// the host did, if the turn never reached the host.
func (c *checker) sameEnd(finish *event, known map[string]brokerTurn) {
	e, err := protocol.ParseEvent([]byte(finish.Body))
	if err != nil {
		c.report(ruleBody, "finish of turn %s: %v", finish.TurnID, err)
		return
	}
	t, ok := known[finish.TurnID]
	if !ok {
		c.report(ruleOneFinish, "turn %s is unknown to the broker", finish.TurnID)
		return
	}
	if t.Finish != e.FinishReason || e.Reason != "" && t.Reason != e.Reason {
		c.report(ruleOneFinish, "turn %s ended with %s %q at the host, with %s %q at the broker", t.ID, e.FinishReason,
			e.Reason, t.Finish, t.Reason)
	}
}
