package core

import (
	"cmp"

	"bellhop/protocol"
)

// taskUnknown is what a session's status says while the broker does not know its task.
const taskUnknown = "the broker does not know the task; an administrator can adopt the session"

// Bound reports whether a broker that named itself has the session.
func (s *State) Bound() bool { return s.Record.BrokerID != "" && !s.Headless() && !s.Record.Basic }

// Comparing reports whether the session is still to be compared with the broker.
func (s *State) Comparing() bool { return s.Delivery.compareDue }

// MustCompare reports whether a broker that names the incarnation of its database has
// the session compared; force compares a session that was compared with it already.
func (s *State) MustCompare(incarnation string, force bool) bool {
	return force || s.Record.Incarnation != incarnation && !s.Comparing()
}

func (in IncarnationSeen) apply(x *Step) error {
	x.delivery().seeIncarnation(in.ID)
	d := &x.State.Delivery
	if in.Force && x.State.Bound() {
		d.compareDue = true
	}
	if d.compareDue {
		x.effect(Post{Nudge: true})
	}
	return nil
}

// seeIncarnation notes the incarnation of the broker's database that a message of
// the broker carried. A session that was not compared with it is due.
func (x deliveryStep) seeIncarnation(id string) {
	s := &x.State
	d := &s.Delivery
	if id == "" || id == d.seen || !s.Bound() {
		return
	}
	d.seen = id
	d.compareDue = d.compareDue || id != s.Record.Incarnation
	x.effect(ShareIncarnation{ID: id})
}

// opensIncarnation handles a /session, whose cursor was compared already.
func (x deliveryStep) opensIncarnation(req *protocol.OpenSessionRequest) {
	if req.Incarnation == "" || req.Cursor == nil {
		return
	}
	x.seeIncarnation(req.Incarnation)
	x.compared(req.Incarnation)
}

// compare handles a renewal's answer, which has the broker's cursor.
func (x deliveryStep) compare(theirs *protocol.Cursor, incarnation string) {
	s := &x.State
	if theirs == nil || !s.Bound() {
		return
	}
	if incarnation != "" {
		x.seeIncarnation(incarnation)
		x.compared(incarnation)
	}
	rec := x.record()
	if rec.Outbox == OutboxStopped || rec.Outbox == OutboxUnknown { // the task is back
		rec.Outbox, rec.OutboxError = OutboxOK, ""
	}
	x.rewindTo(*theirs)
	x.effect(CountPending{})
	x.effect(Post{})
}

// compared ends a comparison. Turns that began before it may be unknown to the
// broker, so their prompts go with their events.
func (x deliveryStep) compared(incarnation string) {
	x.State.Delivery.compareDue = false
	if rec := x.record(); rec.enter(incarnation) {
		rec.Resend = rec.Cursor
	}
}

// enter stores the incarnation of the broker's database, and reports whether it is another than before. Its revisions
// may be lower.
func (rec *SessionRecord) enter(incarnation string) bool {
	if rec.Incarnation == incarnation {
		return false
	}
	rec.Incarnation, rec.AnnouncedRev = incarnation, 0
	return true
}

// rewindTo returns to a cursor that lies before the acknowledged one.
func (x deliveryStep) rewindTo(theirs protocol.Cursor) {
	rec := &x.State.Record
	if !theirs.Less(rec.Acked) {
		return
	}
	rec.Acked, rec.Resend = theirs, rec.Cursor
	x.State.Delivery.Version++
	x.State.Delivery.Unsaved = true
}

// unknownTask keeps all events for a broker that does not know the task: its
// database may be older than the task.
func (x deliveryStep) unknownTask(r *Refusal) {
	d := &x.State.Delivery
	d.dueByAge, d.dueNow, d.compareDue = false, false, false
	rec := x.record()
	rec.enter(cmp.Or(r.Incarnation, d.seen, rec.Incarnation))
	rec.Outbox, rec.OutboxError = OutboxUnknown, taskUnknown
	if x.State.Pending > 0 {
		x.effect(Retry{After: x.backoff(), Why: taskUnknown})
	}
}

// sendPrompt arranges that the prompt of a turn is sent with the turn's first event. The
// broker's database may be restored, and forget the check-in, before the event comes.
func (x deliveryStep) sendPrompt() {
	rec := &x.State.Record
	if rec.Incarnation != "" || x.State.Delivery.seen != "" {
		rec.Resend = rec.Cursor
	}
}
