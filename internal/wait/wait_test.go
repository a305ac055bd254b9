package wait_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAPauseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if !wait.For(t.Context(), time.Minute) || time.Since(begin) != time.Minute {
			t.Errorf("a pause of one minute took %s", time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if wait.For(ctx, time.Minute) || time.Since(begin) != time.Minute+time.Second {
			t.Errorf("a pause whose context ended after one second ended after %s", time.Since(begin)-time.Minute)
		}
	})
}

func TestACallIsRepeatedUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute+time.Second)
		defer cancel()
		begin := time.Now()
		var at []time.Duration
		wait.Every(ctx, time.Minute, func(context.Context) { at = append(at, time.Since(begin)) })
		if want := []time.Duration{0, time.Minute, 2 * time.Minute, 3 * time.Minute}; !slices.Equal(at, want) {
			t.Errorf("called at %v, want %v", at, want)
		}
		if took := time.Since(begin); took != 3*time.Minute+time.Second {
			t.Errorf("returned after %s", took)
		}
	})
}

func TestAConditionIsAwaitedUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		begin := time.Now()
		calls := 0
		third := func(context.Context) bool {
			calls++
			return calls == 3
		}
		if err := wait.Until(ctx, time.Minute, third); err != nil || calls != 3 || time.Since(begin) != 2*time.Minute {
			t.Errorf("%v after %d calls and %s", err, calls, time.Since(begin))
		}
		never := func(inner context.Context) bool { return inner != ctx }
		if err := wait.Until(ctx, time.Minute, never); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a condition that never holds: %v", err)
		}
		if took := time.Since(begin); took != 150*time.Second {
			t.Errorf("returned after %s", took)
		}
	})
}
