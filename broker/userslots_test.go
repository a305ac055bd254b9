package broker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"bellhop/broker"
	"bellhop/broker/store/storetest"
	"bellhop/protocol"
)

// One user's pages must not fill the slots of a host before other users' diffs.
func TestAUserHasFewDiffsAtATime(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	synctest.Test(t, func(t *testing.T) {
		k := kitOn(t, st)
		guest := k.newUser("guest@example.org", false)
		finish := make(chan struct{})
		var computing atomic.Int32
		k.host.onDiff = func() (*protocol.Diff, error) {
			computing.Add(1)
			<-finish
			return &protocol.Diff{}, nil
		}
		diff := func(ctx context.Context, caller broker.Caller) chan error {
			task, err := k.tasks.Create(k.ctx, caller, &protocol.CreateTaskRequest{
				Title: "T", AgentURL: "https://agent.example/", AgentPassword: "p",
			})
			k.must(err)
			done := make(chan error, 1)
			go func() {
				_, err := k.sessions.Diff(ctx, caller.UserID, task.ID)
				done <- err
			}()
			synctest.Wait()
			return done
		}
		leaving, leave := context.WithCancel(k.ctx)
		calls := []chan error{diff(k.ctx, k.user), diff(k.ctx, k.user), diff(k.ctx, k.user)}
		left := diff(leaving, k.user)
		if n := computing.Load(); n != 2 {
			t.Errorf("one user has %d diffs at a time, want 2", n)
		}
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that left: %v", err)
		}
		calls = append(calls, diff(k.ctx, guest))
		if n := computing.Load(); n != 3 {
			t.Errorf("another user's diff waits: %d are computed", n)
		}
		close(finish)
		for _, done := range calls {
			k.must(<-done)
		}
		if n := computing.Load(); n != 4 {
			t.Errorf("%d diffs were computed, want 4", n)
		}
	})
}
