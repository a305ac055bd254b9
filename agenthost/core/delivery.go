package core

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"time"

	"bellhop/protocol"
)

// Delays of delivery.
const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = time.Minute
	// maxDoubtWait bounds the pause after a doubtful response: the events may be
	// lost on the way, and only the next request can find out.
	maxDoubtWait = 5 * time.Second
	// maxCopyWait bounds the pause while the broker serves another copy of the host, so that reports of it
	// end soon after it has ended.
	maxCopyWait = 15 * time.Second
)

// Delivery is how far the broker is, besides SessionRecord.Acked.
type Delivery struct {
	// Version is incremented when something other than a response moves the
	// position. A response to a request of another version is ignored.
	Version int
	Unsaved bool // the position moved and is not written yet
	Limit   int  // events of a request; fewer after a refusal

	failures int
	renewed  bool // since the last delivery
	dueByAge bool // the token expires soon
	dueNow   bool // the broker refused the token

	seen       string // the incarnation of the broker's database that was seen last
	compareDue bool   // the session is to be compared with the broker, by a renewal

	// ClockOffset is how far the broker's clock is ahead of the host's, as far as it matters for
	// signatures.
	ClockOffset time.Duration
	clockMoved  bool // since the last delivery

	// Copies is what the broker said with its last answer if it serves another copy of the host.
	Copies string

	AddressVersion int       // incremented with every webhook address
	WebhookExpires time.Time // of the address's token; zero: unknown
}

// Job is what delivery has to do next.
type Job int

// Jobs.
const (
	JobNone  Job = iota
	JobRenew     // renew the webhook token
	JobSend      // send the events after Acked, at most Delivery.Limit
	JobSave      // write the position: PositionSaved
)

// NextJob returns what delivery has to do.
func (s *State) NextJob() Job {
	d := &s.Delivery
	switch {
	case s.Deleted || s.Headless():
		return JobNone
	case d.compareDue:
		return JobRenew
	case s.Record.Outbox == OutboxStopped:
		return JobNone
	case d.dueByAge || d.dueNow:
		return JobRenew
	case s.Pending > 0:
		return JobSend
	case d.Unsaved && s.Turn == nil: // during a turn the next event's write includes it
		return JobSave
	default:
		return JobNone
	}
}

// Undelivered reports whether the broker lacks events that it can get.
func (s *State) Undelivered() bool { return s.Record.Outbox != OutboxStopped && s.Pending > 0 }

// Sent is a request with events of one epoch.
type Sent struct {
	Version int  `json:"version"`
	Named   bool `json:"named"` // the broker named itself: its responses name it, and have a cursor or an error code
	// Basic brokers know three types of events and get one a request: the last.
	// What precedes it is not for them.
	Basic   bool              `json:"basic"`
	Cursors []protocol.Cursor `json:"cursors"`
	Last    EventRecord       `json:"last"`
}

func (r *Sent) first() protocol.Cursor { return r.Cursors[0] }
func (r *Sent) last() protocol.Cursor  { return r.Cursors[len(r.Cursors)-1] }

// apply handles a success. A broker that named itself acknowledges with its
// cursor; a response without one comes from something in between, such as a
// gateway, and acknowledges nothing. Other brokers acknowledge by the status
// alone, as in the original contract.
func (in DeliveryAccepted) apply(x *Step) error {
	sent := &in.Sent
	last := sent.last()
	x.State.Delivery.Copies = ""
	x.delivery().seeIncarnation(in.Incarnation)
	switch {
	case sent.Basic:
		x.delivery().acknowledge(sent, last)
	case !in.Object:
		x.delivery().doubtful("a success that is not a JSON object", 0)
	case in.Cursor == nil && sent.Named:
		x.delivery().doubtful("a success without the broker's cursor", 0)
	case in.Cursor == nil:
		x.delivery().acknowledge(sent, last)
	case in.Cursor.Less(sent.first()):
		x.delivery().doubtful("a success, but its cursor lies before the events that were sent", 0)
	default:
		x.delivery().acknowledge(sent, *in.Cursor)
	}
	return nil
}

// apply does what the table "Outbox, per answer" of docs/protocol/host.md lists.
func (in DeliveryRefused) apply(x *Step) error {
	sent, r := &in.Sent, &in.Refusal
	if x.delivery().seeIncarnation(r.Incarnation); r.Foreign || r.Code != protocol.CodeTwoCopies {
		x.State.Delivery.Copies = ""
	}
	switch {
	case r.Foreign && r.Status == http.StatusRequestEntityTooLarge && len(sent.Cursors) > 1:
		x.delivery().fewer(sent, len(sent.Cursors)/2)
	case r.Foreign:
		x.delivery().foreign(r)
	case r.Status == http.StatusUnauthorized && r.Code == protocol.CodeTokenExpired:
		x.delivery().tokenExpired(sent)
	case r.Status == http.StatusUnauthorized && r.Code == protocol.CodeSignatureTime:
		x.delivery().clockDiffers(r)
	case r.Status == http.StatusRequestEntityTooLarge && len(sent.Cursors) > 1:
		x.delivery().refused(sent, r, len(sent.Cursors)/2)
	case r.Code == protocol.CodeTwoCopies:
		x.delivery().copied(r)
	case r.Status == http.StatusGone:
		x.delivery().stopDelivery(sent, "the broker has deleted the task")
	case r.Status == http.StatusRequestEntityTooLarge:
		x.delivery().refused(sent, r, 0)
	case r.Status == http.StatusConflict:
		x.delivery().conflicted(sent, r)
	case r.Status == http.StatusNotFound && sent.Named:
		x.delivery().unknownTask(r)
	case r.Status == http.StatusBadRequest && r.aboutEvent(sent.Named):
		x.delivery().refused(sent, r, r.eventIndex())
	default:
		x.delivery().failed(fmt.Sprintf("the broker answered %d %s", r.Status, r.Code), "", r.RetryAfter)
	}
	return nil
}

func (in DeliveryFailed) apply(x *Step) error {
	x.State.Delivery.Copies = ""
	x.delivery().failed(in.What, in.Cause, in.Least)
	return nil
}

// acknowledge moves the position to c, but never past the last event of the
// request. A broker can be ahead of the host, because it pulled events or
// because the host's journal is an older copy. Only sending the next events
// shows whether the broker holds the same ones.
func (x deliveryStep) acknowledge(sent *Sent, c protocol.Cursor) {
	s := &x.State
	d, rec := &s.Delivery, &s.Record
	if sent.Version != d.Version {
		return
	}
	if last := sent.last(); last.Less(c) {
		c = last
	}
	for i := range sent.Cursors {
		if !c.Less(sent.Cursors[i]) {
			s.Pending--
		}
	}
	if rec.Acked.Less(c) {
		rec.Acked = c
	}
	d.failures, d.renewed, d.clockMoved, d.Unsaved = 0, false, false, true
	d.Limit = min(d.Limit*2, protocol.MaxWebhookEvents)
	if rec.Outbox != OutboxStopped {
		rec.Outbox, rec.OutboxError = OutboxOK, ""
	}
}

// failed keeps everything and waits.
func (x deliveryStep) failed(what, cause string, retryAfter time.Duration) {
	x.retry(what, cause, max(x.backoff(), min(retryAfter, maxBackoff)))
}

// clockDiffers signs with the broker's time from now on. A second refusal in a row backs off: it may be of
// another replica, whose clock differs from that of the first.
func (x deliveryStep) clockDiffers(r *Refusal) {
	d := &x.State.Delivery
	again := d.clockMoved
	if r.Time != nil {
		d.ClockOffset, d.clockMoved = r.Time.Sub(x.now), true
	}
	if again || r.Time == nil {
		x.failed("the broker refuses the time of signatures: compare the clocks of host and broker", "", r.RetryAfter)
		return
	}
	x.warn("the clocks of host and broker differ", "broker_ahead", d.ClockOffset.String())
}

func (x deliveryStep) retry(what, cause string, wait time.Duration) {
	x.State.Record.Outbox, x.State.Record.OutboxError = OutboxRetrying, what
	x.effect(Retry{After: wait, Why: what, Cause: cause})
}

// backoff doubles with every failure in a row. Between a half and all of it is
// chosen by the input's id, so that sessions do not retry at the same moment.
func (x deliveryStep) backoff() time.Duration {
	d := &x.State.Delivery
	d.failures++
	wait := min(firstBackoff<<min(d.failures-1, 10), maxBackoff)
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(x.id))
	return wait/2 + time.Duration(sum.Sum64()%uint64(wait/2+1)) //nolint:gosec // below 2^63
}

// doubtful handles a response that is not the broker's own. It acknowledges
// nothing, and the same events are sent again within maxDoubtWait, or when the
// response asks for it.
func (x deliveryStep) doubtful(response string, retryAfter time.Duration) {
	wait := max(min(x.backoff(), maxDoubtWait), min(retryAfter, maxBackoff))
	x.retry("something other than the broker answered: "+response, "", wait)
}

// copied handles a broker that serves another copy of the host. Which one stays is for its operator to decide, so
// nothing ends and everything is kept.
func (x deliveryStep) copied(r *Refusal) {
	d := &x.State.Delivery
	text := protocol.CutText(protocol.SanitizeText(r.Message), 1<<10)
	if d.Copies == "" {
		x.warn("two copies of this host run", "broker", text)
	}
	d.Copies = text
	x.retry(text, "", min(x.backoff(), maxCopyWait))
}

// foreign handles a response that does not name the broker.
func (x deliveryStep) foreign(r *Refusal) {
	switch {
	case r.asksForRetry():
		x.failed(fmt.Sprintf("something other than the broker answered: %d", r.Status), "", r.RetryAfter)
	case r.Status == http.StatusRequestEntityTooLarge:
		x.doubtful("413, a proxy takes no request as large as the next event", r.RetryAfter)
	default:
		x.doubtful(fmt.Sprintf("%d without the broker's name", r.Status), r.RetryAfter)
	}
}

func (x deliveryStep) conflicted(sent *Sent, r *Refusal) {
	switch r.Code {
	case protocol.CodeGap:
		x.rewind(sent, r.Cursor)
	case protocol.CodeDiverged:
		if bad := r.eventIndex(); bad > 0 && bad < len(sent.Cursors) {
			x.fewer(sent, bad)
		} else if sent.Version == x.State.Delivery.Version {
			x.effect(ReadPending{sent.Version})
		}
	case protocol.CodeFenced:
		x.fenced(sent)
	case protocol.CodeConflict:
		x.refused(sent, r, r.eventIndex())
	default:
		x.failed("the broker answered 409 "+string(r.Code), "", r.RetryAfter)
	}
}

// fewer lets the next request have at most n events.
func (x deliveryStep) fewer(sent *Sent, n int) {
	if sent.Version == x.State.Delivery.Version {
		x.State.Delivery.Limit = max(1, n)
	}
}

// rewind returns to the broker's cursor after a gap. It never moves forward: a
// gap acknowledges nothing.
func (x deliveryStep) rewind(sent *Sent, c *protocol.Cursor) {
	if c == nil || c.Epoch > sent.first().Epoch {
		x.failed("the broker reports a gap without its place", "", 0)
		return
	}
	if sent.Version != x.State.Delivery.Version {
		return
	}
	if !c.Less(x.State.Record.Acked) {
		x.failed("the broker reports a gap where there is none", "", 0)
		return
	}
	x.State.Record.Acked, x.State.Delivery.Unsaved = *c, true
	x.State.Record.Resend = x.State.Record.Cursor
	x.effect(CountPending{})
}

// fenced handles a broker that is at a higher epoch. Events of an epoch that is
// over here too are dropped, because the broker keeps them as late; events of
// the current one mean that another host has taken over.
func (x deliveryStep) fenced(sent *Sent) {
	switch {
	case sent.first().Epoch >= x.State.Record.Cursor.Epoch:
		x.stopDelivery(sent, "the broker follows a newer copy of this session")
	case len(sent.Cursors) > 1:
		x.fewer(sent, 1) // each is to be kept as late
	default:
		x.acknowledge(sent, sent.last())
	}
}

// stopDelivery stops the session's delivery and its turn; the journal stays. The
// next /session starts delivery again.
func (x deliveryStep) stopDelivery(sent *Sent, why string) {
	if sent != nil && sent.Version != x.State.Delivery.Version {
		return
	}
	rec := x.record()
	rec.Outbox, rec.OutboxError = OutboxStopped, why
	x.warn("a session's delivery has stopped", "why", why)
	x.stopRenewal()
	x.effect(Interrupt{protocol.ReasonAborted})
}

// refused handles an event, at index bad, that the broker will never accept. What
// precedes it is sent alone first; then a dropped event takes its place.
func (x deliveryStep) refused(sent *Sent, r *Refusal, bad int) {
	if len(sent.Cursors) > 1 && !sent.Basic {
		x.fewer(sent, bad)
		return
	}
	if sent.Version != x.State.Delivery.Version {
		return
	}
	old := sent.Last
	reason := fmt.Sprintf("%d %s", r.Status, protocol.CutText(protocol.SanitizeText(r.Message), 1<<10))
	if old.Type == protocol.EventDropped {
		x.failed("the broker refuses a dropped event: "+reason, "", maxBackoff)
		return
	}
	x.replace(old, protocol.Event{
		SessionID: x.State.ID, Type: protocol.EventDropped, EventID: x.newID(),
		Epoch: old.Cursor.Epoch, Seq: old.Cursor.Seq, TurnID: old.TurnID,
		Timestamp: x.timestamp(), Reason: reason,
	}, old.Cursor)
	x.Rows.DeadLetters = append(x.Rows.DeadLetters, DeadLetter{
		SessionID: x.State.ID, Cursor: old.Cursor, EventID: old.EventID, Reason: reason, Body: string(old.Body), At: x.now,
	})
	if sent.Basic { // such a broker knows no dropped events
		x.State.Record.Acked = old.Cursor
		x.State.Pending -= int64(len(sent.Cursors))
	}
	x.warn("the broker refused an event", "event", old.EventID, "reason", reason)
}

// replace puts an event in the place of old, perhaps at another position.
func (x deliveryStep) replace(old EventRecord, e protocol.Event, at protocol.Cursor) {
	x.Rows.DropEvents = append(x.Rows.DropEvents, old.Cursor)
	row := old
	row.Cursor, row.EventID, row.Type, row.Body = at, e.EventID, e.Type, x.encode(&e)
	x.Rows.Events = append(x.Rows.Events, row)
}

// apply handles a broker that has another event under the same position: all
// unacknowledged events get new positions in a new epoch, in their order. The events
// stay the same, so a broker that has one of them already moves it (see Withholds, too).
func (in PendingRead) apply(x *Step) error {
	s := &x.State
	if in.Version != s.Delivery.Version || len(in.Events) == 0 {
		return nil
	}
	at := protocol.Cursor{Epoch: s.Record.Cursor.Epoch + 1}
	for _, row := range in.Events {
		var e protocol.Event
		if err := json.Unmarshal(row.Body, &e); err != nil {
			x.Rows = Write{SessionID: s.ID}
			x.delivery().failed("the journal holds an event that cannot be read", err.Error(), maxBackoff)
			return nil
		}
		at.Seq++
		e.Epoch, e.Seq = at.Epoch, at.Seq
		x.delivery().replace(row, e, at)
	}
	rec := x.record()
	if !rec.Resend.Less(in.Events[0].Cursor) {
		rec.Resend = at
	}
	rec.Cursor, rec.Acked = at, protocol.Cursor{Epoch: at.Epoch}
	s.Delivery.Version++
	x.warn("the broker has other events: continuing in a new epoch", "epoch", at.Epoch)
	return nil
}

func (in PendingCounted) apply(x *Step) error {
	x.State.Pending = in.Events
	return nil
}

func (PositionSaved) apply(x *Step) error {
	x.record()
	return nil
}
