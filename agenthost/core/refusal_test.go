package core_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// A 400 drops an event only if it is about that event: a named broker says so with the
// event's index, a basic broker by any sentence that is not about the token.
func TestA400DropsAnEventOnlyIfItIsAboutTheEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		broker  string // the id that the broker sent; "": none
		code    protocol.Code
		message string
		index   *int
		drops   bool
		wait    bool // keeps the event and sends it again later
	}{
		{"named, with the event's index", "b1", protocol.CodeInvalid, "text is required", new(0), true, false},
		{
			"named, with the index and a sentence about the token", "b1", protocol.CodeInvalid, "Session ID mismatch", new(0),
			true, false,
		},
		{"named, without an index", "b1", protocol.CodeInvalid, "Invalid token format", nil, false, true},
		{"named, without an index, in other words", "b1", protocol.CodeInvalid, "The token is odd", nil, false, true},
		{"named, without an index or a code", "b1", "", "Bad Request", nil, false, true},
		{"basic, about the event", "", "", "text is required", nil, true, false},
		{"basic, about the token", "", "", "Missing token", nil, false, true},
		{"basic, about the token's format", "", "", "Invalid token format", nil, false, true},
		{"basic, about the token's content", "", "", "Invalid token payload", nil, false, true},
		{"basic, about the session", "", "", "Session ID mismatch", nil, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(t)
			in := openedBy(c.broker, "t1")
			if c.broker == "" {
				in.Request.Cursor, in.Request.Turn = nil, nil
			}
			r.do(in)
			step := r.do(core.DeliveryRefused{Sent: r.sent(1), Refusal: core.Refusal{
				Status: http.StatusBadRequest, Code: c.code, Message: c.message, Index: c.index,
			}})
			retries := len(step.Effects) == 1
			if retries {
				_, retries = step.Effects[0].(core.Retry)
			}
			if drops := len(step.Rows.DeadLetters) == 1; drops != c.drops || retries != c.wait {
				t.Errorf("dropped %v, retried %v: %s", drops, retries, shown(step))
			}
		})
	}
}

// After the first refusal the host signs with the broker's time at once. It does not loop if that is
// refused too.
func TestAHostSignsWithTheBrokersTime(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.do(openedBy("b1", "t1"))
	refuse := func(at *time.Time) bool {
		step := r.do(core.DeliveryRefused{Sent: r.sent(1), Refusal: core.Refusal{
			Status: http.StatusUnauthorized, Code: protocol.CodeSignatureTime, Time: at,
		}})
		return slices.ContainsFunc(step.Effects, func(e core.Effect) bool { _, waits := e.(core.Retry); return waits })
	}
	if !refuse(nil) || r.state.Delivery.ClockOffset != 0 {
		t.Error("moved the clock without a time")
	}
	theirs := r.at.Add(time.Hour)
	if refuse(&theirs) {
		t.Error("waits although it knows the time")
	}
	if got := r.state.Delivery.ClockOffset; got < time.Hour-time.Minute || got > time.Hour {
		t.Errorf("offset %v", got)
	}
	if !refuse(&theirs) {
		t.Error("does not back off")
	}
	r.do(core.DeliveryAccepted{Sent: r.sent(1), Cursor: &protocol.Cursor{Epoch: 1, Seq: 1}, Object: true})
	if refuse(&theirs) {
		t.Error("a later difference is not corrected")
	}
}

// Of two replicas one has a wrong clock. A host that has its time is refused by the other, and follows that
// one's time: otherwise no replica would accept its events once the wrong clock is right again.
func TestAHostFollowsTheTimeOfEachReplica(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.do(openedBy("b1", "t1"))
	for _, ahead := range []time.Duration{2 * 365 * 24 * time.Hour, 0, time.Hour} {
		at := r.at.Add(ahead)
		r.do(core.DeliveryRefused{Sent: r.sent(1), Refusal: core.Refusal{
			Status: http.StatusUnauthorized, Code: protocol.CodeSignatureTime, Time: &at,
		}})
		if off := r.state.Delivery.ClockOffset - ahead; off < -time.Minute || off > time.Minute {
			t.Errorf("a replica is %v ahead, the host signs %v ahead", ahead, r.state.Delivery.ClockOffset)
		}
	}
}

// A gateway may answer for a broker that is there: the events are sent again soon, however long that
// continues. A broker that is away is asked less and less often.
func TestAfterADoubtfulAnswerEventsAreSentAgainSoon(t *testing.T) {
	t.Parallel()
	const soon = 5 * time.Second
	refused := func(status int, code protocol.Code) func(*run) core.Input {
		return func(r *run) core.Input {
			return core.DeliveryRefused{Sent: r.sent(1), Refusal: core.Refusal{Status: status, Code: code, Foreign: code == ""}}
		}
	}
	for name, c := range map[string]struct {
		answer     func(r *run) core.Input
		isDoubtful bool
	}{
		"a success without a cursor": {
			func(r *run) core.Input { return core.DeliveryAccepted{Sent: r.sent(1), Object: true} }, true,
		},
		"a page": {func(r *run) core.Input { return core.DeliveryAccepted{Sent: r.sent(1)} }, true},
		"a cursor of before": {
			func(r *run) core.Input {
				return core.DeliveryAccepted{Sent: r.sent(1), Cursor: &protocol.Cursor{Epoch: 1}, Object: true}
			}, true,
		},
		"a foreign 400":        {refused(http.StatusBadRequest, ""), true},
		"a foreign 404":        {refused(http.StatusNotFound, ""), true},
		"a foreign 410":        {refused(http.StatusGone, ""), true},
		"a foreign 413":        {refused(http.StatusRequestEntityTooLarge, ""), true},
		"a foreign 503":        {refused(http.StatusServiceUnavailable, ""), false},
		"the broker's own 503": {refused(http.StatusServiceUnavailable, protocol.CodeUnavailable), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := opened(t)
			longest := time.Duration(0)
			for range 20 {
				step := r.do(c.answer(r))
				retry, ok := step.Effects[len(step.Effects)-1].(core.Retry)
				if !ok || retry.After <= 0 {
					t.Fatalf("it does not try again: %s", shown(step))
				}
				longest = max(longest, retry.After)
			}
			if r.state.Record.Acked.Seq != 0 {
				t.Errorf("acknowledged up to %v", r.state.Record.Acked)
			}
			if longest <= soon != c.isDoubtful {
				t.Errorf("the longest pause is %v", longest)
			}
		})
	}
}

// Nothing is dropped and no turn ends while the broker serves another copy of the host, and the pauses stay short.
func TestWhileTheBrokerServesAnotherCopyOfTheHostEverythingIsKept(t *testing.T) {
	t.Parallel()
	const text = "two copies of host h: the broker serves the one at http://h"
	r := newRun(t)
	r.do(openedBy("b1", "t1"))
	refuse := func() (*core.Step, time.Duration) {
		step := r.do(core.DeliveryRefused{Sent: r.sent(1), Refusal: core.Refusal{
			Status: http.StatusServiceUnavailable, Code: protocol.CodeTwoCopies, Message: text,
		}})
		for _, e := range step.Effects {
			if retry, ok := e.(core.Retry); ok {
				return step, retry.After
			}
		}
		t.Fatalf("no retry: %s", shown(step))
		return nil, 0
	}
	warned := 0
	for range 20 {
		step, after := refuse()
		if after > 15*time.Second || len(step.Rows.DropEvents)+len(step.Rows.DeadLetters)+len(step.Rows.Turns) > 0 {
			t.Fatalf("after %v: %s", after, shown(step))
		}
		if slices.ContainsFunc(step.Effects, func(e core.Effect) bool { _, ok := e.(core.Warn); return ok }) {
			warned++
		}
	}
	if r.state.Delivery.Copies != text || r.state.Record.OutboxError != text || warned != 1 {
		t.Errorf("%q, %q, %d warnings", r.state.Delivery.Copies, r.state.Record.OutboxError, warned)
	}
	r.do(core.DeliveryAccepted{Sent: r.sent(1), Cursor: &protocol.Cursor{Epoch: 1, Seq: 1}, Object: true})
	if r.state.Delivery.Copies != "" || r.state.Record.OutboxError != "" {
		t.Errorf("after it: %q, %q", r.state.Delivery.Copies, r.state.Record.OutboxError)
	}
	// Something in between cannot say so.
	r.do(core.DeliveryRefused{Sent: r.sent(1), Refusal: core.Refusal{
		Foreign: true, Status: http.StatusServiceUnavailable, Code: protocol.CodeTwoCopies, Message: text,
	}})
	if r.state.Delivery.Copies != "" {
		t.Error("a foreign answer is believed")
	}
}
