package broker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/broker/store/storetest"
)

// PROC-14: events and attempts from before the clock went back an hour are not
// younger for it: a silent turn's host is asked as often as ever.
func TestAClockThatWentBackDelaysNoReconciliation(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	synctest.Test(t, func(t *testing.T) {
		k := kitOn(t, st)
		var offset atomic.Int64
		now := func() time.Time { return time.Now().Round(0).Add(time.Duration(offset.Load())) } // a wall clock
		k.reconciler.Now, k.ingest.Now, k.sessions.Now, k.updater.Now = now, now, now, now
		task := k.task()
		in := k.checkIn(task.ID, "go")
		j := &journal{epoch: 1, open: in.TurnID}
		k.host.onEvents = j.page
		k.mustSend(task.ID, "", string(j.add(in.TurnID, text("x"))))
		ctx, cancel := context.WithCancel(k.ctx)
		go k.reconciler.Run(ctx)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		atStart := j.count()
		offset.Store(-int64(time.Hour))
		time.Sleep(95 * time.Second)
		synctest.Wait()
		if later := j.count() - atStart; atStart != 1 || later < 3 || later > 5 {
			t.Errorf("%d pulls at start, %d in the 95 s after the clock went back", atStart, later)
		}
		cancel()
	})
}

// What failed while the clock was years ahead is tried again when the clock is right.
func TestAClockThatWasAheadPutsOffNoRetry(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.newUser("root@example.org", true)
	host := k.register("build")
	task, deleted := k.session(host), k.session(host)
	const ahead = 2 * 365 * 24 * time.Hour
	k.clock.Advance(ahead)
	k.host.down(errDown)
	k.host.onRevoke = func(string) error { return errDown }
	k.must(k.delete(k.user.UserID, deleted))
	k.disabled()
	k.revokes(0, task)
	k.clock.Advance(-ahead)
	k.host.down(nil)
	k.host.onRevoke = nil
	k.round(0)
	k.revokes(0)
	k.upkeep.Sweep(k.ctx)
	k.round(0, deleted)
	k.revokes(0, task)
}
