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
	var changes []Change
	var rev int64
	err := s.Store.Read(ctx, func(ctx context.Context) error {
		changes = nil
		task, err := s.Store.Task(ctx, userID, id)
		if err != nil {
			return err
		}
		rev = task.Rev
		if since < 0 || since > rev {
			return ErrReset
		}
		if since == rev {
			return nil
		}
		refs, err := s.Store.ChangeRefs(ctx, id, since, clamp(limit))
		if err != nil {
			return err
		}
		if len(refs) == 0 || refs[0].Rev != since+1 {
			return ErrReset
		}
		changes, err = s.rows(ctx, task, refs)
		return err
	})
	return changes, rev, err
}

// rows puts the present state of each row beside its change.
func (s *Tasks) rows(ctx context.Context, task *Task, refs []ChangeRef) ([]Change, error) {
	ids := map[ChangeKind][]string{}
	for _, ref := range refs {
		ids[ref.Kind] = append(ids[ref.Kind], ref.RefID)
	}
	messages := map[string]*protocol.Message{}
	if len(ids[ChangeMessage]) > 0 {
		found, err := s.Store.MessagesByID(ctx, task.ID, ids[ChangeMessage])
		if err != nil {
			return nil, err
		}
		for i := range found {
			messages[found[i].ID] = &found[i].Message
		}
	}
	questions := map[string]*protocol.Interaction{}
	if len(ids[ChangeInteraction]) > 0 {
		found, err := s.Store.TaskInteractions(ctx, task.ID, ids[ChangeInteraction])
		if err != nil {
			return nil, err
		}
		for i := range found {
			found[i].TaskTitle = task.Title
			questions[found[i].ID] = found[i].View()
		}
	}
	changes := make([]Change, len(refs))
	for i, ref := range refs {
		changes[i] = Change{Rev: ref.Rev, Kind: ref.Kind}
		switch ref.Kind {
		case ChangeMessage:
			changes[i].Message = messages[ref.RefID]
		case ChangeInteraction:
			changes[i].Interaction = questions[ref.RefID]
		case ChangeTask:
			changes[i].Task = task.View()
		}
	}
	return changes, nil
}

// Hints is the state of the user's tasks, the last changed first.
func (s *Tasks) Hints(ctx context.Context, userID string, limit int) ([]protocol.TaskHint, error) {
	return s.Store.Hints(ctx, userID, clamp(limit))
}

// Revs is the rev of each task, in one query. Deleted tasks keep theirs until
// they are purged.
func (s *Tasks) Revs(ctx context.Context, taskIDs []string) (map[string]int64, error) {
	if len(taskIDs) == 0 {
		return map[string]int64{}, nil
	}
	return s.Store.Revs(ctx, taskIDs)
}

// HintsSince is the tasks of these users that changed at since or later, by the
// clocks of the replicas that wrote. Readers overlap their windows by the skew
// they allow and compare revs. Deleted tasks are among them.
func (s *Tasks) HintsSince(ctx context.Context, userIDs []string, since time.Time) ([]UserHint, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return s.Store.HintsSince(ctx, userIDs, since)
}
