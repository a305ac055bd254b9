package outbound

import (
	"context"
	"errors"
	"time"

	"bellhop/protocol"
)

// outcome is what is recorded of a claim.
type outcome struct {
	state   State
	reason  string
	next    time.Time // of queued and held
	attempt *Attempt  // nil if nothing was tried
	reply   []byte
	disable bool
	silent  bool // tell nobody
}

func (o *outcome) final() bool { return o.state != Queued && o.state != Held }

// outcome applies a verdict to a delivery. The end of its life is the last
// moment it is due: then it expires.
func (w *Worker) outcome(d *Delivery, attempt *Attempt, v verdict, reply []byte) outcome {
	o := outcome{attempt: attempt, reply: reply, reason: v.reason, disable: v.disable}
	now := w.at()
	switch v.next {
	case done:
		o.state = Delivered
	case fail:
		o.state = Failed
	case atOnce:
		o.state, o.next, o.reason = Queued, now, ""
	default:
		after := v.after
		if after == 0 {
			after = gap(attempt.Number, w.o.Random())
		}
		o.state, o.next, o.reason = Queued, now.Add(after), ""
	}
	if o.next.After(d.ExpiresAt) {
		o.next = d.ExpiresAt
	}
	return o
}

const (
	recordTries = 6
	recordPause = 250 * time.Millisecond
)

// conclude records an outcome, through a short outage of the database too. If it
// cannot, the lease lapses and the delivery is sent again.
func (w *Worker) conclude(ctx context.Context, d *Delivery, o outcome) {
	recording := context.WithoutCancel(ctx)
	err := w.record(recording, d, o)
	if permanent(err) && o.state == Delivered {
		w.log.ErrorContext(ctx, "reply not stored", "delivery", d.ID, "error", err)
		o.state, o.reason, o.reply = Failed, ReasonReply, nil
		err = w.record(recording, d, o)
	}
	if permanent(err) && o.final() { // or it would be sent again and again
		w.log.ErrorContext(ctx, "end of a delivery not told", "delivery", d.ID, "error", err)
		o.silent = true
		err = w.record(recording, d, o)
	}
	for pause := recordPause; unavailable(err) && pause < recordPause<<recordTries && sleep(ctx, pause); pause *= 2 {
		err = w.record(recording, d, o)
	}
	switch {
	case errors.Is(err, ErrLeaseLost):
		w.lost(ctx, d)
	case err != nil:
		w.log.ErrorContext(ctx, "delivery not recorded", "delivery", d.ID, "error", err)
	default:
		w.concluded(recording, d, o)
	}
}

// permanent errors are of those who are told, and come again.
func permanent(err error) bool {
	return err != nil && !errors.Is(err, ErrLeaseLost) && !unavailable(err) && protocol.CodeOf(err) != protocol.CodeStorageFull
}

func (w *Worker) lost(ctx context.Context, d *Delivery) {
	w.log.InfoContext(ctx, "delivery taken over by another worker", "delivery", d.ID)
}

// concluded lets the successor go. It comes after the commit, so that whoever
// parks the successor meanwhile has seen that end; if it is lost, parking ends
// by itself.
func (w *Worker) concluded(ctx context.Context, d *Delivery, o outcome) {
	if d.OrderKey != "" && o.final() {
		w.report(ctx, "advance a successor", w.store.Advance(ctx, d.EndpointID, d.OrderKey, w.at()))
	}
	w.Wake()
}

// record writes an outcome and tells those concerned, in one transaction.
func (w *Worker) record(ctx context.Context, claimed *Delivery, o outcome) error {
	now := w.at()
	return w.store.Write(ctx, func(ctx context.Context) error {
		d := *claimed
		d.State, d.Reason = o.state, o.reason
		switch o.state {
		case Queued, Held:
			d.NextAt = o.next
		default:
			d.FinishedAt, d.NextAt = &now, now
		}
		if o.attempt != nil {
			d.Attempts, d.AttemptedAt = o.attempt.Number, &o.attempt.At
		}
		if err := w.store.Record(ctx, &d, o.attempt); err != nil {
			return err
		}
		if !o.silent {
			if err := w.tell(ctx, &d, o.reply); err != nil {
				return err
			}
		}
		if o.disable {
			return w.disable(ctx, &d)
		}
		return nil
	})
}

func (w *Worker) tell(ctx context.Context, d *Delivery, reply []byte) error {
	notices := w.o.Kinds[d.Kind].Notices
	if notices == nil {
		return nil
	}
	switch d.State {
	case Delivered:
		return notices.Delivered(ctx, d, reply)
	case Failed, Expired:
		return notices.Failed(ctx, d, d.Reason)
	default:
		return nil
	}
}

// disable is for an endpoint that wants nothing more.
func (w *Worker) disable(ctx context.Context, d *Delivery) error {
	e, err := disable(ctx, w.store, d.UserID, d.EndpointID, d.Reason, w.at())
	if err != nil {
		return err
	}
	if err := w.store.Hold(ctx, e.ID); err != nil {
		return err
	}
	if notices, ok := w.o.Kinds[d.Kind].Notices.(DisableNotices); ok {
		return notices.Disabled(ctx, e, d.Reason)
	}
	return nil
}
