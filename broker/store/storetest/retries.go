package storetest

import (
	"testing"
	"time"

	"bellhop/broker"
)

func testHastenRetries(t *testing.T, s suite) {
	far := now.Add(time.Hour)
	for name, c := range map[string]struct {
		due  time.Time
		want bool
	}{
		"late":         {far.Add(time.Microsecond), true},
		"years":        {now.AddDate(2, 0, 0), true},
		"in good time": {far, false},
	} {
		user := s.user()
		task, deleted := s.task(user), s.task(user)
		m := queuedMessage(task.ID, "m", 0)
		m.DueAt = c.due
		s.must(s.store.AddQueued(s.ctx, m, nil))
		s.must(s.store.AddOwedEnd(s.ctx, &broker.SessionEnd{TaskID: deleted.ID, Since: now, DueAt: c.due, Attempts: 1}))
		s.must(s.apply(task.ID, func(b *broker.Batch) { b.Task.HostEvents = true }))
		s.must(s.store.RevokeUser(s.ctx, user, c.due))

		want := int64(0)
		if c.want {
			want = 3
		}
		if n, err := s.store.HastenRetries(s.ctx, far, now); err != nil || n != want {
			t.Errorf("%s: %d rows, %v; want %d", name, n, err, want)
		}
		queues, err := s.store.DueQueues(s.ctx, now, nil, 10)
		s.must(err)
		ends, err := s.store.DueEnds(s.ctx, now, 10)
		s.must(err)
		revocations, err := s.store.DueRevocations(s.ctx, now, 10)
		s.must(err)
		if got := len(queues) + len(ends) + len(revocations); got != int(want) {
			t.Errorf("%s: %d queues, %d ends and %d revocations are due", name, len(queues), len(ends), len(revocations))
		}
		s.must(s.store.ClearQueue(s.ctx, task.ID))
		s.must(s.store.SettleEnd(s.ctx, deleted.ID))
		for i := range revocations {
			s.must(s.store.SettleRevocation(s.ctx, &revocations[i]))
		}
	}
}
