package explore

import (
	"cmp"
	"fmt"
	"slices"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// Violation returns the invariant that does not hold, "" if all do.
func (w *World) Violation() string {
	if w.problem != "" {
		return w.problem
	}
	for h := range w.hosts {
		if !w.hosts[h].state.Durable {
			continue
		}
		for _, check := range []func(int) string{w.kept, w.received, w.noDeadLetter, w.status, w.position} {
			if problem := check(h); problem != "" {
				return problem
			}
		}
	}
	positions := ""
	if !w.bothRestored() { // then a delayed request can use former positions, until their host moves them
		positions = w.positions()
	}
	return cmp.Or(w.order(), positions, w.late(), w.invented())
}

// kept: a final event that was shown to a reader is in the journal or in the database,
// unless a restore lost it.
func (w *World) kept(h int) string {
	at := &w.hosts[h]
	for _, id := range at.made {
		if at.journal.find(id) == nil && w.db.find(id) == nil && !slices.Contains(w.excused, id) {
			return fmt.Sprintf("6 PROC-3: event %s was shown, and neither the journal nor the database has it", short(id))
		}
	}
	return ""
}

// received: an acknowledged event is one that the broker has. After a restore of the
// database this holds again when the host has compared its session.
func (w *World) received(h int) string {
	at := &w.hosts[h]
	rec := &at.state.Record
	if !w.compared(h) || w.bothRestored() {
		return ""
	}
	for _, e := range at.journal.events {
		if !rec.Acked.Less(e.Cursor) && w.db.find(e.EventID) == nil {
			return fmt.Sprintf("6 PROC-7: host %d has event %s acknowledged, and the database does not have it",
				h, short(e.EventID))
		}
	}
	return ""
}

// compared reports whether a host knows how far the database went back.
func (w *World) compared(h int) bool {
	st := &w.hosts[h].state
	return !w.db.copied && st.Record.Incarnation == name(w.db.incarnation) && !st.Comparing()
}

// bothRestored reports that the journal and the database went back. Positions then name
// other events than before on both sides, and a request of the former life that is still
// under way can fill one of them. That loss is excused, see docs/reliability.md.
func (w *World) bothRestored() bool { return w.restored[0] && w.restored[1] }

// noDeadLetter: no event was refused for good, because none is invalid here.
func (w *World) noDeadLetter(h int) string {
	if w.hosts[h].journal.letters > 0 {
		return fmt.Sprintf("1 IN-11: host %d has a dead letter without a cause", h)
	}
	return ""
}

// status: /status counts the unacknowledged events right, and a session stops only when its
// task has moved.
func (w *World) status(h int) string {
	at := &w.hosts[h]
	rec := &at.state.Record
	if n := int64(len(at.journal.after(rec.Acked, 0))); n != at.state.Pending {
		return fmt.Sprintf("6 PROC-17: host %d shows %d unacknowledged events of %d", h, at.state.Pending, n)
	}
	if at.state.Outbox() == core.OutboxOK && at.state.Pending > 0 {
		return fmt.Sprintf("6 PROC-17: host %d shows ok, and %d events are not acknowledged", h, at.state.Pending)
	}
	if rec.Outbox == core.OutboxStopped && !w.moved {
		return fmt.Sprintf("6 PROC-17: host %d has stopped: %s", h, rec.OutboxError)
	}
	return ""
}

// position: journal and database agree about the position of an acknowledged event.
// Restores of both sides may leave a late event at the position of an earlier life.
func (w *World) position(h int) string {
	at := &w.hosts[h]
	for _, e := range at.journal.events {
		if at.state.Record.Acked.Less(e.Cursor) || !w.compared(h) {
			continue
		}
		if row := w.db.find(e.EventID); row != nil && !row.late && row.at != e.Cursor {
			return fmt.Sprintf("9 positions are kept: event %s is journaled at %v, its row is at %v", short(e.EventID),
				e.Cursor, row.at)
		}
	}
	return ""
}

// order: the events of a host have their effects in the order in which they were shown.
// After restores of both sides a delayed request can bring an event of the former life.
func (w *World) order() string {
	var last [hostCount]*rowOf
	for i := range w.db.rows {
		row := &w.db.rows[i]
		if row.late || row.host == forger || w.bothRestored() && slices.Contains(w.excused, row.id) {
			continue
		}
		if before := last[row.host]; before != nil && row.id < before.id {
			return fmt.Sprintf("9 order is kept: event %s at %v has its effects after %s at %v", short(row.id), row.at,
				short(before.id), before.at)
		}
		last[row.host] = row
	}
	return ""
}

// positions: events have their positions in the order of their effects, and seq counts from
// 1 within an epoch.
func (w *World) positions() string {
	at := protocol.Cursor{}
	for i := range w.db.rows {
		if w.db.rows[i].late {
			continue
		}
		c := w.db.rows[i].at
		if c.Epoch > at.Epoch {
			at = protocol.Cursor{Epoch: c.Epoch}
		}
		if at.Seq++; c != at {
			return fmt.Sprintf("9 no event is lost: the database has %v where %v is due", c, at)
		}
	}
	if at != w.db.cursor {
		return fmt.Sprintf("9 a receipt is true: the cursor is %v, the last event is at %v", w.db.cursor, at)
	}
	return ""
}

// late: events are stored without effects only after a restore or a move. With a forged
// event a repeated request can be late, until the host posts its events in the next epoch.
func (w *World) late() string {
	if slices.ContainsFunc(w.db.rows, func(r rowOf) bool { return r.host == forger }) {
		return ""
	}
	return w.lateRow()
}

func (w *World) lateRow() string {
	for i := range w.db.rows {
		if row := &w.db.rows[i]; row.late && !w.restored[0] && !w.restored[1] && !w.moved && row.host != forger {
			return fmt.Sprintf("9 no event is late without a restore: %s", short(row.id))
		}
	}
	return ""
}

// invented: no event is stored of an epoch that no host has begun.
func (w *World) invented() string {
	for i := range w.db.rows {
		if row := &w.db.rows[i]; row.host == forger && !w.restored[0] && row.at.Epoch > w.newestEpoch() {
			return "2 AUTH-11: an event is stored of an epoch that no host has begun"
		}
	}
	return ""
}

func (w *World) newestEpoch() (epoch int64) {
	for h := range w.hosts {
		epoch = max(epoch, w.hosts[h].state.Record.Cursor.Epoch)
	}
	return epoch
}

// short is the readable part of an event's id: its host, the input and its number there.
func short(id string) string {
	if len(id) < 36 {
		return id
	}
	return fmt.Sprintf("%s.%s.%s", id[7:8], id[31:32], id[35:36])
}
