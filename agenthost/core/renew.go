package core

import (
	"cmp"
	"net/http"
	"time"
)

// When a webhook token is renewed.
const (
	renewBefore = time.Minute
	// renewAtLeast keeps a token that lives shorter than renewBefore from being
	// renewed without pause.
	renewAtLeast = 5 * time.Second
)

// tokenExpired requests a renewal, because the broker refused the token as expired. If
// it refuses the renewed token too, delivery backs off instead of renewing again.
func (x deliveryStep) tokenExpired(sent *Sent) {
	d := &x.State.Delivery
	again := d.renewed && sent.Version == d.Version
	d.renewed = !again
	if again {
		x.failed("the broker does not take the token it renewed", "", 0)
		return
	}
	d.dueNow = true
}

// armRenewal sets the timer that renews the webhook token before it expires. The timer waits
// for the duration least at the shortest. Without an open turn no timer is set.
func (x deliveryStep) armRenewal(least time.Duration) {
	s := &x.State
	x.stopRenewal()
	if s.Turn == nil || s.Record.Basic || s.Delivery.WebhookExpires.IsZero() {
		return
	}
	left := s.Delivery.WebhookExpires.Add(-renewBefore).Sub(x.now)
	x.effect(SetTimer{Name: TimerRenewal, After: max(left, least)})
}

func (x deliveryStep) stopRenewal() {
	x.State.Delivery.dueByAge = false
	x.effect(StopTimer{TimerRenewal})
}

func (RenewalDue) apply(x *Step) error {
	if x.State.Turn != nil {
		x.State.Delivery.dueByAge = true
		x.effect(Post{Nudge: true})
	}
	return nil
}

func (in TokenRenewed) apply(x *Step) error {
	s := &x.State
	s.Delivery.dueByAge, s.Delivery.dueNow, s.Delivery.compareDue = false, false, false
	x.delivery().compare(in.Cursor, in.Incarnation)
	if s.Delivery.AddressVersion != in.AddressVersion { // a check-in brought another address meanwhile
		return nil
	}
	rec := x.record()
	same := rec.WebhookURL == in.URL
	rec.WebhookURL = in.URL
	if rec.Outbox == OutboxRetrying {
		rec.Outbox, rec.OutboxError = OutboxOK, ""
	}
	s.Delivery.AddressVersion++
	s.Delivery.WebhookExpires = in.Expires
	x.delivery().armRenewal(renewAtLeast)
	if same {
		x.effect(Retry{After: renewAtLeast})
	}
	return nil
}

func (in RenewalRefused) apply(x *Step) error {
	r := &in.Refusal
	x.State.Delivery.dueNow = false
	x.delivery().seeIncarnation(r.Incarnation)
	switch {
	case r.Status == 0:
		x.delivery().failed("the broker cannot be reached for a renewal", r.Message, 0)
	case r.Foreign:
		x.delivery().foreign(r)
	case r.Status == http.StatusGone:
		x.delivery().compared(cmp.Or(r.Incarnation, x.State.Record.Incarnation))
		x.delivery().stopDelivery(nil, "the broker has deleted the task")
	case r.Status == http.StatusNotFound && x.State.Bound():
		x.delivery().unknownTask(r)
	default:
		x.delivery().failed("the broker does not renew the webhook token", "", r.RetryAfter)
	}
	x.delivery().endRetries()
	return nil
}

// endRetries makes the outbox ok when nothing is left to retry: a check-in may have
// brought another token while a renewal was under way that then failed.
func (x deliveryStep) endRetries() {
	s := &x.State
	if d := &s.Delivery; s.Record.Outbox == OutboxRetrying && s.Pending == 0 && !d.compareDue && !d.dueByAge && !d.dueNow {
		s.Record.Outbox, s.Record.OutboxError = OutboxOK, ""
	}
}
