package broker

import (
	"context"
	"errors"
	"time"

	"bellhop/protocol"
)

// ErrReset says that the changes since a rev cannot be told: it is in the
// future, or so old that its successors are pruned. The reader starts again
// from the whole task.
var ErrReset = errors.New("the changes since that rev are not known")

// ChangeRef is a stored change: which row it touched.
type ChangeRef struct {
	Rev   int64
	Kind  ChangeKind
	RefID string
}

// UserHint is a hint and whom it is for.
type UserHint struct {
	UserID    string
	ChangedAt time.Time
	protocol.TaskHint
}

// Changes tells what changed after the rev since, at most limit steps, and the
// task's rev now. It is ErrReset when that cannot be told.
func (s *Tasks) Changes(ctx context.Context, userID, id string, since int64, limit int) ([]Change, int64, error) {
	return nil, 0, nil
}

// Hints is the state of the user's tasks, the last changed first.
func (s *Tasks) Hints(ctx context.Context, userID string, limit int) ([]protocol.TaskHint, error) {
	return nil, nil
}

// Revs is the rev of each task, in one query. Deleted tasks keep theirs until
// they are purged.
func (s *Tasks) Revs(ctx context.Context, taskIDs []string) (map[string]int64, error) {
	return nil, nil
}

// HintsSince is the tasks of these users that changed at since or later, by the
// clocks of the replicas that wrote. Readers overlap their windows by the skew
// they allow and compare revs. Deleted tasks are among them.
func (s *Tasks) HintsSince(ctx context.Context, userIDs []string, since time.Time) ([]UserHint, error) {
	return nil, nil
}
