package explore

import (
	"fmt"
	"slices"

	"bellhop/agenthost/core"
	"bellhop/broker/sequencer"
	"bellhop/protocol"
)

// forger stands in place of a host's number for a program that stole the webhook token.
const forger = -1

// digests caches the digest of each event by its body.
var digests = map[string]string{}

func digest(body string) string {
	known, ok := digests[body]
	if !ok {
		known, _ = sequencer.Digest([]byte(body))
		digests[body] = known
	}
	return known
}

// sequenced returns what the sequencer sees of a host's events.
func (w *World) sequenced(list []core.EventRecord) []sequencer.Event {
	events := make([]sequencer.Event, len(list))
	for i := range list {
		events[i] = sequencer.Event{
			ID: list[i].EventID, Digest: digest(string(list[i].Body)), Position: list[i].Cursor, Body: list[i].Body,
		}
		if w.rules.NoMoves {
			events[i].Body = nil
		}
	}
	return events
}

// post ingests events of a holder of the webhook token. If they begin an epoch, the
// task's host is asked for its own.
func (w *World) post(producer int, list []core.EventRecord) sequencer.Decision {
	verified := int64(0)
	if w.rules.AnyEpoch {
		verified = protocol.MaxPosition
	}
	d := w.ingest(producer, list, verified)
	if d.Refusal == nil || d.Refusal.Code != protocol.CodeUnverified {
		return d
	}
	return w.ingest(producer, list, w.hosts[w.db.host].state.Record.Cursor.Epoch)
}

// ingest decides about events and commits the result, as broker.Ingest does: events that
// continue at the cursor are assumed to be new, until the database has one of their ids.
func (w *World) ingest(producer int, list []core.EventRecord, verified int64) sequencer.Decision {
	events := w.sequenced(list)
	state := sequencer.State{Cursor: w.db.cursor, Verified: verified}
	taken := slices.ContainsFunc(events, func(e sequencer.Event) bool { return w.db.find(e.ID) != nil })
	if taken || !state.Continues(events) {
		state.Known = w.known(events)
	}
	d := sequencer.Decide(state, events)
	w.db.store(producer, events, &d, w)
	return d
}

func (w *World) known(events []sequencer.Event) map[string]sequencer.Known {
	known := map[string]sequencer.Known{}
	for i := range events {
		if row := w.db.find(events[i].ID); row != nil {
			known[row.id] = sequencer.Known{Digest: row.digest, Position: row.at, Late: row.late}
		}
	}
	return known
}

// store commits a decision. The indexes of the database refuse an id or a position that is
// taken.
func (d *database) store(producer int, events []sequencer.Event, decision *sequencer.Decision, w *World) {
	rows := slices.Clone(d.rows)
	for _, i := range decision.Late {
		rows = append(rows, rowOf{events[i].ID, producer, events[i].Digest, events[i].Position, true})
	}
	for _, i := range decision.Moved {
		e := &events[i]
		at := slices.IndexFunc(rows, func(r rowOf) bool { return r.id == e.ID })
		row := rows[at]
		row.at, row.digest, row.late = e.Position, e.Digest, false
		if slices.Contains(decision.Accepted, i) { // it was late: its effects come now
			rows = append(slices.Delete(rows, at, at+1), row)
		} else {
			rows[at] = row
		}
	}
	for _, i := range decision.Accepted {
		if !slices.Contains(decision.Moved, i) {
			rows = append(rows, rowOf{events[i].ID, producer, events[i].Digest, events[i].Position, false})
		}
	}
	if decision.Refusal == nil {
		d.cursor = decision.Cursor
	}
	d.rows = rows
	w.unique()
}

// unique records a violation if two rows have the same id or position. In Bellhop the
// database's unique indexes refuse them.
func (w *World) unique() {
	for i := range w.db.rows {
		for j := range i {
			a, b := &w.db.rows[i], &w.db.rows[j]
			if a.id == b.id || a.at == b.at && !a.late && !b.late {
				w.fail("1 IN-6: " + a.id + " and " + b.id + " have the same id or position")
			}
		}
	}
}

// load makes a broker read the incarnation. The first broker that reads a restored
// database begins a new incarnation.
func (w *World) load(b int) {
	if w.db.copied {
		w.incarnations++
		w.db.incarnation, w.db.copied = w.incarnations, false
	}
	if at := &w.broker[b]; at.incarnation != w.db.incarnation {
		at.former, at.incarnation = at.incarnation, w.db.incarnation
	}
}

// round is a broker's POST /reconcile to a host, with the host's answer.
func (w *World) round(b, h int) {
	id := w.broker[b].incarnation
	st := &w.hosts[h].state
	if !st.Bound() {
		return
	}
	if st.MustCompare(name(id), false) {
		_ = w.input(h, core.IncarnationSeen{ID: name(id), Force: true})
	}
	if st.Comparing() || st.Record.Outbox == core.OutboxStopped || st.Record.Acked.Seq == 0 {
		return
	}
	if sequencer.Regressed(w.db.cursor, st.Record.Acked) && !w.db.copied && w.db.incarnation == id {
		w.incarnations++
		w.db.incarnation = w.incarnations
		w.load(b)
	}
}

// announce is a check-in: a broker's request to the task's host with the task's cursor.
func (w *World) announce(b, label int) {
	w.checkIns++
	w.db.rev++
	w.posts = append(w.posts, request{
		kind: checkIn, host: w.db.host, cursor: w.db.cursor, turn: fmt.Sprint("t", w.checkIns), rev: w.db.rev, by: b, label: label,
	})
}

// refused is what a broker makes of a host's answer that a later check-in came before this one. If the database does not
// have that, it was restored: a new incarnation begins, and the broker asks again.
func (w *World) refused(r request, rev int64) {
	if w.db.rev >= rev {
		if r.rev == w.db.rev {
			w.fail("9 the newest check-in of the database is refused")
		}
		return
	}
	w.db.copied = true
	w.load(r.by)
	r.cursor, r.label, r.rev = w.db.cursor, w.db.incarnation, w.db.rev
	w.openSession(&r)
}

// forge posts an event of a program that has the webhook token.
func (w *World) forge(at protocol.Cursor) {
	body := fmt.Sprintf(`{"eventId":"f%v","epoch":%d,"seq":%d,"type":"text","text":"x"}`, at, at.Epoch, at.Seq)
	row := core.EventRecord{EventID: fmt.Sprint("f", at), Cursor: at, Body: []byte(body)}
	w.post(forger, []core.EventRecord{row})
}
