package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/broker"
)

func testAttempts(t *testing.T, s suite) {
	limit := broker.AttemptLimit{Burst: 3, Every: 6 * time.Second}
	take := func(key string, at time.Time) time.Duration {
		wait, err := s.store.TakeAttempt(s.ctx, []byte(key), limit, at)
		s.must(err)
		return wait
	}
	var taken atomic.Int64
	var replicas sync.WaitGroup
	for range 12 { // as replicas do, at the same moment
		replicas.Go(func() {
			if take("a", now) == 0 {
				taken.Add(1)
			}
		})
	}
	replicas.Wait()
	if taken.Load() != 3 {
		t.Errorf("%d attempts were taken", taken.Load())
	}
	for _, c := range []struct {
		key   string
		after time.Duration
		wait  time.Duration
	}{
		{"a", 0, 6 * time.Second},
		{"b", 0, 0},
		{"a", 5 * time.Second, time.Second},
		{"a", 6 * time.Second, 0},
		{"a", 6 * time.Second, 6 * time.Second},
		{"a", time.Hour, 0},
	} {
		if got := take(c.key, now.Add(c.after)); got != c.wait {
			t.Errorf("%s after %s: wait %s, want %s", c.key, c.after, got, c.wait)
		}
	}
	s.must(s.store.ForgetAttempts(s.ctx, []byte("a")))
	s.must(s.store.ForgetAttempts(s.ctx, []byte("a")))
	n, err := s.store.PruneLogins(s.ctx, now.Add(6*time.Second))
	s.must(err)
	if n != 1 { // of b
		t.Errorf("%d pruned", n)
	}
}
