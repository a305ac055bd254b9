package broker_test

import (
	"context"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/protocol"
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

func TestAHostHasALaterCheckIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what     string
		ahead    int64 // of the host's check-in
		code     protocol.Code
		attempts int
	}{
		{"that the database has", 0, protocol.CodeConflict, 1},
		{"that a restored database lacks", 5, "", 2},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			k := newRecoveryKit(t)
			host, task := k.kit.host, k.onHost()
			former := k.incarnation.ID()
			host.onOpen = func(req *protocol.OpenSessionRequest) (*protocol.OpenSessionResponse, error) {
				if req.Incarnation != former {
					return &protocol.OpenSessionResponse{Token: "t", Capabilities: []string{protocol.CapabilityEvents}}, nil
				}
				return nil, &protocol.Error{
					Code: protocol.CodeConflict, Message: "later", Err: broker.LaterCheckInError{Rev: req.Turn.Rev + c.ahead},
				}
			}
			_, err := k.sessions.CheckIn(k.ctx, k.user.UserID, &protocol.CheckInRequest{TaskID: task.ID, Message: "go"})
			if protocol.CodeOf(err) != c.code || len(host.opened) != c.attempts {
				t.Errorf("%d attempts: %v", len(host.opened), err)
			}
			if ended := k.incarnation.ID() != former; ended != (c.ahead > 0) {
				t.Errorf("the incarnation ended: %t", ended)
			}
			if rev := host.lastOpen().Turn.Rev; rev == 0 {
				t.Error("the request has no revision")
			}
		})
	}
}
