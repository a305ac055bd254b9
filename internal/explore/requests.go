package explore

import (
	"fmt"
	"net/http"
	"slices"

	"bellhop/agenthost/core"
	"bellhop/agenthost/delivery"
	"bellhop/protocol"
)

type requestKind int

const (
	post requestKind = iota
	renewal
	checkIn
)

// request is one request under way, and later its answer.
type request struct {
	kind  requestKind
	host  int
	order delivery.Order
	sent  core.Sent
	list  []core.EventRecord

	committed bool       // a broker has committed it
	by        int        // that broker; of a check-in: the sender
	answer    core.Input // what the host makes of the answer
	label     int        // the incarnation that the answer names
	abandoned bool       // its sender does not wait any more

	cursor protocol.Cursor // of a check-in, its turn and its revision
	turn   string
	rev    int64
}

// String names the request in a trace.
func (r *request) String() string {
	text := fmt.Sprintf("%s of host %d", [...]string{"post", "renewal", "check-in"}[r.kind], r.host)
	if r.kind == post {
		text = fmt.Sprintf("post of host %d (%v to %v)", r.host, r.sent.Cursors[0], r.sent.Last.Cursor)
	}
	if r.abandoned {
		return "delayed " + text
	}
	return text
}

// send makes the request that a host's delivery wants; most limits its events, as the size
// of a body does.
func (w *World) send(h, most int) {
	at := &w.hosts[h]
	order := delivery.OrderOf(&at.state)
	switch order.Job {
	case core.JobSave:
		_ = w.input(h, core.PositionSaved{})
	case core.JobRenew:
		w.posts = append(w.posts, request{kind: renewal, host: h, order: order})
	case core.JobSend:
		events := at.journal.after(order.Acked, min(order.Limit, most))
		if len(events) == 0 {
			w.act(h, core.CountPending{})
			return
		}
		events = delivery.Fitting(events)
		w.posts = append(w.posts, request{host: h, order: order, sent: delivery.SentOf(&order, events), list: events})
	}
}

// waits reports whether a host waits for an answer to its delivery.
func (w *World) waits(h int) bool {
	return slices.ContainsFunc(w.posts, func(r request) bool { return r.host == h && r.kind != checkIn && !r.abandoned })
}

// drop removes a request.
func (w *World) drop(i int) { w.posts = slices.Delete(w.posts, i, i+1) }

// commit makes a broker process a request. label is the incarnation that the answer names.
func (w *World) commit(i, b, label int) {
	r := w.posts[i]
	if r.kind == checkIn {
		if w.drop(i); w.rules.LateLabel {
			r.label = w.broker[r.by].incarnation
		}
		w.openSession(&r)
		return
	}
	if r.kind == renewal {
		r.answer = core.TokenRenewed{
			AddressVersion: r.order.AddressVersion, URL: hook, Cursor: w.renewedCursor(r.host), Incarnation: name(label),
		}
	} else {
		r.answer = w.posted(&r, label)
	}
	r.committed, r.by, r.label = true, b, label
	if w.posts[i] = r; r.abandoned {
		w.drop(i)
	}
}

// renewedCursor is the cursor of a renewal's answer.
func (w *World) renewedCursor(h int) *protocol.Cursor {
	cursor := w.db.cursor
	if acked := w.hosts[h].state.Record.Acked; w.rules.NoRewind && cursor.Less(acked) {
		cursor = acked
	}
	return &cursor
}

// posted ingests the events of a post and returns what its sender makes of the answer.
func (w *World) posted(r *request, label int) core.Input {
	d := w.post(r.host, r.list)
	if d.Refusal == nil {
		cursor := d.Cursor
		in := core.DeliveryAccepted{Sent: r.sent, Cursor: &cursor, Object: true, Incarnation: name(label)}
		if w.rules.AnyCursor {
			in.Sent = w.upTo(r, cursor)
		}
		return in
	}
	refusal := core.Refusal{
		Status: http.StatusConflict, Code: d.Refusal.Code, Message: d.Refusal.Message, Cursor: d.Refusal.Cursor,
		Incarnation: name(label), Index: d.Refusal.Index,
	}
	return core.DeliveryRefused{Sent: r.sent, Refusal: refusal}
}

// upTo turns fix B1 off: the request counts as if it had contained all that the host has
// up to the cursor.
func (w *World) upTo(r *request, cursor protocol.Cursor) core.Sent {
	sent := r.sent
	sent.Cursors = slices.Clone(sent.Cursors)
	for _, e := range w.hosts[r.host].journal.after(r.sent.Last.Cursor, 0) {
		if !cursor.Less(e.Cursor) {
			sent.Cursors, sent.Last = append(sent.Cursors, e.Cursor), e
		}
	}
	return sent
}

// receive gives a host the answer to its request. An incarnation that a broker names after
// it read the database (Rules.LateLabel) is the one that it knows then.
func (w *World) receive(i int) {
	r := w.posts[i]
	w.drop(i)
	if w.rules.LateLabel {
		r.answer = labelled(r.answer, name(w.broker[r.by].incarnation))
	}
	_ = w.input(r.host, r.answer)
}

func labelled(in core.Input, incarnation string) core.Input {
	switch in := in.(type) {
	case core.DeliveryAccepted:
		in.Incarnation = incarnation
		return in
	case core.DeliveryRefused:
		in.Refusal.Incarnation = incarnation
		return in
	case core.TokenRenewed:
		in.Incarnation = incarnation
		return in
	}
	return in
}

// timeOut ends a host's wait. The request may still arrive when it was not done yet.
func (w *World) timeOut(i int, lost bool) {
	r := w.posts[i]
	if lost || r.committed || r.kind == checkIn {
		w.drop(i)
	} else {
		w.posts[i].abandoned = true
	}
	switch r.kind {
	case post:
		_ = w.input(r.host, core.DeliveryFailed{What: "the broker cannot be reached"})
	case renewal:
		_ = w.input(r.host, core.RenewalRefused{})
	case checkIn: // the broker marks the message as not delivered
	}
}

// lie makes a gateway answer in the broker's place, without passing the request on.
func (w *World) lie(i int, status int) {
	r := w.posts[i]
	w.drop(i)
	switch {
	case r.kind == renewal:
		_ = w.input(r.host, core.RenewalRefused{Refusal: core.Refusal{Foreign: true, Status: status}})
	case status == http.StatusOK && w.rules.AnySuccess:
		sent := r.sent
		sent.Named = false
		_ = w.input(r.host, core.DeliveryAccepted{Sent: sent, Object: true})
	default:
		_ = w.input(r.host, core.DeliveryRefused{Sent: r.sent, Refusal: core.Refusal{Foreign: true, Status: status}})
	}
}
