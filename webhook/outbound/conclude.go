package outbound

import (
	"context"
	"errors"
	"time"

	"bellhop/internal/wait"
	"bellhop/protocol"
)

// update holds the values that are written to a delivery when its claim ends.
type update struct {
	state   State
	reason  string
	next    time.Time // for Queued and Held
	attempt *Attempt  // nil if no request was made
	reply   []byte
	disable bool
	silent  bool // the kind's Notices are not called
}

func (o *update) final() bool { return o.state != Queued && o.state != Held }

// updateFor translates the outcome of an attempt. A retry is never scheduled after ExpiresAt:
// at that time the delivery is due once more and expires.
func (w *Worker) updateFor(d *Delivery, attempt *Attempt, outcome attemptOutcome, reply []byte) update {
	o := update{attempt: attempt, reply: reply, reason: outcome.reason, disable: outcome.disable}
	now := w.nowUTC()
	switch outcome.next {
	case succeed:
		o.state = Delivered
	case failForGood:
		o.state = Failed
	case retryNow:
		o.state, o.next, o.reason = Queued, now, ""
	default:
		retryAfter := outcome.retryAfter
		if retryAfter == 0 {
			retryAfter = gap(attempt.Number, w.o.Random())
		}
		o.state, o.next, o.reason = Queued, now.Add(retryAfter), ""
	}
	if o.next.After(d.ExpiresAt) {
		o.next = d.ExpiresAt
	}
	return o
}

const (
	recordTries = 6                      // repetitions of record while the database is unavailable
	recordPause = 250 * time.Millisecond // before the first repetition; doubled for each further one
)

// conclude records an update and retries during a short outage of the database. If it cannot,
// the lease lapses and the delivery is sent again.
func (w *Worker) conclude(ctx context.Context, d *Delivery, o update) {
	recording := context.WithoutCancel(ctx)
	err := w.record(recording, d, o)
	if permanent(err) && o.state == Delivered {
		w.log.ErrorContext(ctx, "reply not stored", "delivery", d.ID, "error", err)
		o.state, o.reason, o.reply = Failed, ReasonReply, nil
		err = w.record(recording, d, o)
	}
	if permanent(err) && o.final() { // otherwise the delivery would be sent again without end
		w.log.ErrorContext(ctx, "notices of a delivery failed", "delivery", d.ID, "error", err)
		o.silent = true
		err = w.record(recording, d, o)
	}
	for pause := recordPause; unavailable(err) && pause < recordPause<<recordTries && wait.For(ctx, pause); pause *= 2 {
		err = w.record(recording, d, o)
	}
	switch {
	case errors.Is(err, ErrLeaseLost):
		w.logLeaseLost(ctx, d)
	case err != nil:
		w.log.ErrorContext(ctx, "delivery not recorded", "delivery", d.ID, "error", err)
	default:
		w.advanceSuccessor(recording, d, o)
	}
}

// permanent reports whether err would occur again if record were repeated, as an error of
// the kind's Notices does.
func permanent(err error) bool {
	return err != nil && !errors.Is(err, ErrLeaseLost) && !unavailable(err) && protocol.CodeOf(err) != protocol.CodeStorageFull
}

func (w *Worker) logLeaseLost(ctx context.Context, d *Delivery) {
	w.log.InfoContext(ctx, "delivery taken over by another worker", "delivery", d.ID)
}

// advanceSuccessor makes the next delivery of the same order due. It runs after the commit: a
// worker that parks the successor meanwhile sees that its predecessor ended. If this call is
// lost, parking ends after parkFor.
func (w *Worker) advanceSuccessor(ctx context.Context, d *Delivery, o update) {
	if d.OrderKey != "" && o.final() {
		w.report(ctx, "advance a successor", w.store.Advance(ctx, d.EndpointID, d.OrderKey, w.nowUTC()))
	}
	w.Wake()
}

// record writes an update and calls the kind's Notices, in one transaction.
func (w *Worker) record(ctx context.Context, claimed *Delivery, o update) error {
	now := w.nowUTC()
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
			if err := w.notify(ctx, &d, o.reply); err != nil {
				return err
			}
		}
		if o.disable {
			return w.disable(ctx, &d)
		}
		return nil
	})
}

func (w *Worker) notify(ctx context.Context, d *Delivery, reply []byte) error {
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

// disable is called when the receiver asked for no more deliveries (410).
func (w *Worker) disable(ctx context.Context, d *Delivery) error {
	e, err := disable(ctx, w.store, d.UserID, d.EndpointID, d.Reason, w.nowUTC())
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
