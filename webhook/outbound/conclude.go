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

func (u *update) final() bool { return u.state != Queued && u.state != Held }

// updateFor translates the outcome of an attempt. A retry is never scheduled after ExpiresAt:
// at that time the delivery is due once more and expires. If only a wall clock in the future says that it is over, the
// attempts go on.
func (w *Worker) updateFor(d *Delivery, attempt *Attempt, outcome attemptOutcome, reply []byte) update {
	u := update{attempt: attempt, reply: reply, reason: outcome.reason, disable: outcome.disable}
	now := w.nowUTC()
	switch outcome.next {
	case succeed:
		u.state = Delivered
	case failForGood:
		u.state = Failed
	case retryNow:
		u.state, u.next, u.reason = Queued, now, ""
	default:
		retryAfter := outcome.retryAfter
		if retryAfter == 0 {
			retryAfter = pauseAfter(attempt.Number, w.o.Random())
		}
		u.state, u.next, u.reason = Queued, now.Add(retryAfter), ""
	}
	if u.next.After(d.ExpiresAt) && !now.After(d.ExpiresAt) {
		u.next = d.ExpiresAt
	}
	return u
}

const (
	recordTries = 6                      // repetitions of record while the database is unavailable
	recordPause = 250 * time.Millisecond // before the first repetition; doubled for each further one
)

// conclude records an update and retries during a short outage of the database. If it cannot,
// the lease lapses and the delivery is sent again.
func (w *Worker) conclude(ctx context.Context, d *Delivery, u update) {
	recording := context.WithoutCancel(ctx)
	err := w.record(recording, d, u)
	if permanent(err) && u.state == Delivered {
		w.log.ErrorContext(ctx, "reply not stored", "delivery", d.ID, "error", err)
		u.state, u.reason, u.reply = Failed, ReasonReply, nil
		err = w.record(recording, d, u)
	}
	if permanent(err) && u.final() { // otherwise the delivery would be sent again without end
		w.log.ErrorContext(ctx, "notices of a delivery failed", "delivery", d.ID, "error", err)
		u.silent = true
		err = w.record(recording, d, u)
	}
	for pause := recordPause; unavailable(err) && pause < recordPause<<recordTries && wait.For(ctx, pause); pause *= 2 {
		err = w.record(recording, d, u)
	}
	switch {
	case errors.Is(err, ErrLeaseLost):
		w.logLeaseLost(ctx, d)
	case err != nil:
		w.log.ErrorContext(ctx, "delivery not recorded", "delivery", d.ID, "error", err)
	default:
		w.Wake()
	}
}

// permanent reports whether err would occur again if record were repeated, as an error of
// the kind's Notices does.
func permanent(err error) bool {
	return err != nil && !errors.Is(err, ErrLeaseLost) && !unavailable(err) &&
		protocol.CodeOf(err) != protocol.CodeStorageFull
}

func (w *Worker) logLeaseLost(ctx context.Context, d *Delivery) {
	w.log.InfoContext(ctx, "delivery taken over by another worker", "delivery", d.ID)
}

// advanceSuccessors makes due the next delivery of each order in which a delivery ended. It runs
// after the commit, so that a worker that parks the successor meanwhile sees that its
// predecessor ended. If the call fails, the successor is due after parkFor.
func (w *Worker) advanceSuccessors(ctx context.Context, ended []Conclusion) {
	var orders []Order
	for _, c := range ended {
		if c.OrderKey != "" && c.FinishedAt != nil {
			orders = append(orders, Order{c.EndpointID, c.OrderKey})
		}
	}
	if len(orders) > 0 {
		w.report(ctx, "advance a successor", w.store.Advance(ctx, orders, w.nowUTC()))
	}
}

// record writes an update and calls the kind's Notices, in one transaction. Then it makes
// the successor due.
func (w *Worker) record(ctx context.Context, claimed *Delivery, u update) error {
	c := w.conclusion(claimed, u)
	notices := w.o.Kinds[c.Kind].Notices
	if !u.disable && (notices == nil || u.silent || !u.final()) {
		return w.recordInGroup(ctx, c)
	}
	err := w.store.Write(ctx, func(ctx context.Context) error {
		if err := w.store.Record(ctx, c); err != nil {
			return err
		}
		if !u.silent {
			if err := notify(ctx, notices, c.Delivery, u.reply); err != nil {
				return err
			}
		}
		if u.disable {
			return w.disable(ctx, c.Delivery)
		}
		return nil
	})
	if err == nil {
		w.advanceSuccessors(ctx, []Conclusion{c})
	}
	return err
}

func (w *Worker) conclusion(claimed *Delivery, u update) Conclusion {
	now, d := w.nowUTC(), *claimed
	d.State, d.Reason = u.state, u.reason
	if u.final() {
		d.FinishedAt, d.NextAt = &now, now
	} else {
		d.NextAt = u.next
	}
	if u.attempt != nil {
		d.Attempts, d.AttemptedAt = u.attempt.Number, &u.attempt.At
	}
	return Conclusion{Delivery: &d, Attempt: u.attempt}
}

func notify(ctx context.Context, notices Notices, d *Delivery, reply []byte) error {
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
