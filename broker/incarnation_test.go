package broker_test

import (
	"context"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
)

// The database is restored between the two reads of a check-in. The host must not take the
// former cursor for one of the present life.
func TestACheckInNamesTheIncarnationOfItsCursor(t *testing.T) {
	t.Parallel()
	k := newRecoveryKit(t)
	task := k.onHost()
	former := k.incarnation.ID()
	k.sessions.Store = restoredAfterRead{k.sessions.Store.(*store.Store), func() {
		if _, err := k.store.EndIncarnation(k.ctx, former); err != nil {
			t.Error(err)
		}
		k.must(k.incarnation.Load(k.ctx))
	}}
	k.checkIn(task.ID, "go")
	if got := k.kit.host.lastOpen().Incarnation; got != former || k.incarnation.ID() == former {
		t.Errorf("the check-in named %s, which began after its cursor was read", got)
	}
}

// restoredAfterRead has the database restored after a task was read.
type restoredAfterRead struct {
	*store.Store
	restore func()
}

func (s restoredAfterRead) OpenableTask(
	ctx context.Context, userID, id string, now time.Time,
) (*broker.OpenableTask, error) {
	task, err := s.Store.OpenableTask(ctx, userID, id, now)
	s.restore()
	return task, err
}
