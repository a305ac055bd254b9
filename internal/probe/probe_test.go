package probe_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/probe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAResultIsGoodForAnInterval(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	now, checks, result := time.Unix(1000, 0), 0, error(nil)
	p := &probe.Probe{Now: func() time.Time { return now }, Check: func(context.Context) error {
		checks++
		return result
	}}
	for _, step := range []struct {
		name   string
		after  time.Duration
		result error
		want   error
		checks int
	}{
		{"the first call checks", 0, nil, nil, 1},
		{"within the interval nothing is checked", probe.Interval - 1, full, nil, 1},
		{"after it the new result counts", 1, full, full, 2},
		{"a failure is remembered as well", 0, nil, full, 2},
		{"a failure is forgotten after the interval", probe.Interval, nil, nil, 3},
		{"a clock that went back checks again", -time.Hour, full, full, 4},
	} {
		now, result = now.Add(step.after), step.result
		if err := p.Ready(t.Context()); !errors.Is(err, step.want) || checks != step.checks {
			t.Errorf("%s: %v after %d checks", step.name, err, checks)
		}
	}
}

func TestACallerThatLeavesLeavesNoResult(t *testing.T) {
	t.Parallel()
	checks := 0
	p := &probe.Probe{Check: func(ctx context.Context) error { checks++; return ctx.Err() }}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Ready(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := p.Ready(t.Context()); err != nil || checks != 2 {
		t.Errorf("%v after %d checks", err, checks)
	}
}

// Many callers for ten seconds: the first checks at once, and then one each second.
func TestManyCallersCheckOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var checks atomic.Int32
		p := &probe.Probe{Check: func(context.Context) error { checks.Add(1); return nil }}
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				for range 100 {
					_ = p.Ready(t.Context())
					time.Sleep(99 * time.Millisecond)
				}
			})
		}
		callers.Wait()
		if n := checks.Load(); n > 10 || n < 9 {
			t.Errorf("%d checks in ten seconds", n)
		}
	})
}
