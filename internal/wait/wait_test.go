package wait_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"bellhop/internal/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAPauseEndsWithItsContext(t *testing.T) {
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
