package app

import (
	"testing"
	"time"

	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

func TestTheProgressOfADelivery(t *testing.T) {
	t.Parallel()
	next := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	failed := []outbound.Attempt{{Number: 1, Error: outbound.FaultTimeout}, {Number: 2, Status: 503}}
	for name, c := range map[string]struct {
		delivery outbound.Delivery
		want     protocol.FollowupProgress
	}{
		"before the first attempt": {
			outbound.Delivery{State: outbound.Queued}, protocol.FollowupProgress{State: protocol.ProgressSending},
		},
		"in flight again": {
			outbound.Delivery{State: outbound.Queued, Attempts: 1, Lease: "l", Log: failed[:1]},
			protocol.FollowupProgress{State: protocol.ProgressSending, Attempts: 1, LastError: "timeout"},
		},
		"between attempts": {
			outbound.Delivery{State: outbound.Queued, Attempts: 2, NextAt: next, Log: failed},
			protocol.FollowupProgress{
				State: protocol.ProgressRetrying, Attempts: 2, NextAttemptAt: &next, LastError: "status 503",
			},
		},
		"behind another": {
			outbound.Delivery{State: outbound.Queued, Blocked: true, NextAt: next},
			protocol.FollowupProgress{State: protocol.ProgressWaiting},
		},
		"to a disabled webhook": {
			outbound.Delivery{State: outbound.Held, Attempts: 2, NextAt: next, Log: failed},
			protocol.FollowupProgress{State: protocol.ProgressHeld, Attempts: 2, LastError: "status 503"},
		},
	} {
		got := progressOf(&c.delivery)
		if (got.NextAttemptAt == nil) != (c.want.NextAttemptAt == nil) ||
			got.NextAttemptAt != nil && !got.NextAttemptAt.Equal(next) {
			t.Errorf("%s: next at %v", name, got.NextAttemptAt)
		}
		if got.NextAttemptAt = c.want.NextAttemptAt; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
