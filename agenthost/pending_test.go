package agenthost_test

import (
	"testing"
	"time"
)

// The age of the outbox is that of the oldest event, of any session, that its broker lacks.
func TestTheOldestPendingEventIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		oldest := func(what string, want time.Time) {
			r.Helper()
			if got, err := r.host.OldestPending(r.Context()); err != nil || got.UnixMilli() != want.UnixMilli() {
				r.Errorf("%s: %v, %v, want %v", what, got, err, want)
			}
		}
		oldest("no session", time.Time{})
		r.turn("s2", "t1", writeText("one"))
		r.delivered()
		oldest("all is acknowledged", time.Time{})
		r.broker.refuseAll(true)
		time.Sleep(time.Minute)
		since := time.Now()
		r.turn("s2", "t2", writeText("two"))
		for _, session := range []string{"s1", "s3"} {
			time.Sleep(time.Minute)
			r.turn(session, "t1", writeText("three"))
		}
		time.Sleep(time.Minute)
		oldest("three sessions wait", since)
		r.broker.refuseAll(false)
		time.Sleep(2 * time.Minute)
		r.delivered()
		oldest("all is acknowledged again", time.Time{})
	})
}
