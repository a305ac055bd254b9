package check

import (
	"encoding/json"
	"reflect"
)

// Rules of events.
const (
	ruleQuiet    = "nothing is under way"
	ruleDense    = "a journal has no holes"
	ruleServed   = "a host serves its journal"
	ruleLost     = "no event is lost"
	ruleDoubled  = "no event is doubled"
	ruleInvented = "no event is invented"
	ruleOrder    = "events keep their positions"
	ruleBody     = "events keep their content"
	ruleLate     = "no event is late without a restore"
	ruleReceipt  = "a receipt is true"
)

// quiet: everything has arrived, and neither side has refused anything.
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
	if c.OpenAsks > 0 || c.OpenTurn != "" {
		c.report(ruleQuiet, "open turn %q, %d open questions", c.OpenTurn, c.OpenAsks)
	}
	if c.JournalRestores > 0 || c.DatabaseRestores > 0 {
		return // content that came back under another position is recorded
	}
	for _, entry := range c.Audit {
		c.report(ruleQuiet, "the broker refused %s", entry)
	}
}

// journal: seq counts from 1 without holes within an epoch, and ids are unique.
func (c *checker) journal() {
	var at Cursor
	ids := map[string]Cursor{}
	for _, e := range c.Journal {
		if e.At.Epoch > at.Epoch {
			at = Cursor{Epoch: e.At.Epoch}
		}
		if at.Seq++; e.At != at {
			c.report(ruleDense, "%v where %v is due", e.At, at)
			at = e.At
		}
		if before, twice := ids[e.ID]; twice {
			c.report(ruleDense, "event %s is journaled at %v and %v", e.ID, before, e.At)
		}
		ids[e.ID] = e.At
	}
	if at != c.Cursor {
		c.report(ruleDense, "the journal ends at %v, the host says %v", at, c.Cursor)
	}
}

// served: GET …/events answers with exactly the newest epoch.
func (c *checker) served() {
	var newest []Event
	for _, e := range c.Journal {
		if e.At.Epoch == c.Cursor.Epoch {
			newest = append(newest, e)
		}
	}
	if len(newest) != len(c.Served) {
		c.report(ruleServed, "%d events are served, %d are journaled in epoch %d", len(c.Served), len(newest), c.Cursor.Epoch)
		return
	}
	for i, e := range newest {
		if got := c.Served[i]; got.At != e.At || !sameJSON(got.Body, e.Body) {
			c.report(ruleServed, "at %v: served is %s, journaled %s", e.At, got.Body, e.Body)
		}
	}
}

// database: the rows are the journal's events, each once, where and as they were journaled.
func (c *checker) database() {
	positions := map[Cursor]string{}
	ids := map[string]bool{}
	for _, row := range c.Rows {
		if ids[row.ID] {
			c.report(ruleDoubled, "event %s has two rows", row.ID)
		}
		ids[row.ID] = true
		if row.Late {
			c.late(row)
			continue
		}
		if twin, taken := positions[row.At]; taken {
			c.report(ruleDoubled, "events %s and %s are both at %v", twin, row.ID, row.At)
		}
		positions[row.At] = row.ID
		c.compare(row)
	}
	for _, list := range [][]Event{c.Journal, c.Forgotten} {
		for _, e := range list {
			if !ids[e.ID] {
				c.report(ruleLost, "event %s, %s at %v", e.ID, e.Type, e.At)
			}
		}
	}
	c.denseRows()
}

func (c *checker) late(row Event) {
	if c.JournalRestores == 0 && c.DatabaseRestores == 0 {
		c.report(ruleLate, "event %s at %v", row.ID, row.At)
	}
	if _, known := c.known[row.ID]; !known {
		c.report(ruleInvented, "late event %s at %v", row.ID, row.At)
	}
}

// compare a row with the event in the journal. A host may renumber events that the broker has not
// acknowledged. If its journal then goes back to the time before, it has them at their former
// positions again, while their rows stay where they were acknowledged, or where they were stored by a
// request whose answer the replaced journal does not have.
func (c *checker) compare(row Event) {
	e, known := c.known[row.ID]
	before, acknowledged := c.acknowledged[row.ID]
	if acknowledged && (c.DatabaseRestores == 0 || before.At == row.At) {
		e = before
	} else if e.At != row.At {
		for _, sent := range c.unsettled[row.ID] {
			if sent.At == row.At {
				e = sent
			}
		}
	}
	switch {
	case !known:
		c.report(ruleInvented, "event %s, %s at %v", row.ID, row.Type, row.At)
		return
	case e.At != row.At:
		c.report(ruleOrder, "event %s was journaled at %v, its row is at %v", row.ID, e.At, row.At)
	}
	if e.Turn != row.Turn || e.Type != row.Type || !sameJSON(e.Body, row.Body) {
		c.report(ruleBody, "event %s: journaled is %s of turn %s: %s; its row is %s of turn %s: %s",
			row.ID, e.Type, e.Turn, e.Body, row.Type, row.Turn, row.Body)
	}
}

func (c *checker) denseRows() {
	var at Cursor
	for _, row := range c.inOrder() {
		if row.At.Epoch > at.Epoch {
			at = Cursor{Epoch: row.At.Epoch}
		}
		if at.Seq++; row.At.Seq > at.Seq {
			c.report(ruleLost, "the rows have %v where %v is due", row.At, at)
		}
		at = row.At
	}
}

// receipts checks that a broker confirmed only stored events, counted each event
// once, and named a cursor that covers the request.
func (c *checker) receipts() {
	accepted := 0
	for _, r := range c.Receipts {
		if r.Status != 200 {
			continue
		}
		accepted += r.Accepted
		if r.Accepted+r.Duplicates != len(r.Events) {
			c.report(ruleReceipt, "%d accepted and %d duplicates for %d events up to %v", r.Accepted, r.Duplicates,
				len(r.Events), r.Last)
		}
		if r.Cursor.less(r.Last) {
			c.report(ruleReceipt, "cursor %v for events up to %v", r.Cursor, r.Last)
		}
		if len(r.Missing) > 0 {
			c.report(ruleReceipt, "events %v up to %v were acknowledged before they were stored", r.Missing, r.Last)
		}
		for _, id := range r.Events {
			if _, stored := c.stored[id]; !stored {
				c.report(ruleReceipt, "event %s is not stored, its receipt says so", id)
			}
		}
	}
	if accepted > len(c.Rows) && c.DatabaseRestores == 0 {
		c.report(ruleReceipt, "%d events accepted, %d stored: some were accepted twice", accepted, len(c.Rows))
	}
}

func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}
