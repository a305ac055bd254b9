package broker

import (
	"context"
	"errors"
	"time"

	"bellhop/protocol"
)

// ErrReset means that the changes since a rev are not known: the rev is in the
// future, or so old that later changes were pruned. The reader must read the
// complete task again.
var ErrReset = errors.New("the changes since that rev are not known")

// ChangeRef is a stored change. It names the row that changed.
type ChangeRef struct {
	Rev   int64
	Kind  ChangeKind
	Seq   int64  // of the message
	RefID string // id of the interaction
}

// UserHint is a task hint with the user it is for.
type UserHint struct {
	UserID    string
	ChangedAt time.Time
	protocol.TaskHint
}

// Feeds reads changes for the feeds of tasks and of users.
type Feeds struct{ Store FeedStore }

// FeedStore is the part of the store that Feeds reads.
type FeedStore interface {
	// Read runs fn on one consistent view of the data.
	Read(ctx context.Context, fn func(ctx context.Context) error) error
	Task(ctx context.Context, userID, id string) (*Task, error)
	ChangeRefs(ctx context.Context, taskID string, since int64, limit int) ([]ChangeRef, error)
	MessagesBySeq(ctx context.Context, taskID string, seqs []int64) ([]Message, error)
	TaskInteractions(ctx context.Context, taskID string, ids []string) ([]Interaction, error)
	Revs(ctx context.Context, taskIDs []string) (map[string]int64, error)
	Hints(ctx context.Context, userID string, limit int) ([]protocol.TaskHint, error)
	HintsSince(ctx context.Context, userIDs []string, since time.Time) ([]UserHint, error)
}

// Get returns a task of the user; another user's is CodeNotFound.
func (s *Feeds) Get(ctx context.Context, userID, id string) (*protocol.Task, error) {
	task, err := s.Store.Task(ctx, userID, id)
	if err != nil {
		return nil, err
	}
	return task.View(), nil
}

// Changes returns at most limit changes after the rev since, and the task's current
// rev. It returns ErrReset when these changes are not known.
func (s *Feeds) Changes(ctx context.Context, userID, id string, since int64, limit int) ([]Change, int64, error) {
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

// rows adds to each change the current state of the row it names.
func (s *Feeds) rows(ctx context.Context, task *Task, refs []ChangeRef) ([]Change, error) {
	var seqs []int64
	var ids []string
	for _, ref := range refs {
		switch ref.Kind {
		case ChangeMessage:
			seqs = append(seqs, ref.Seq)
		case ChangeInteraction:
			ids = append(ids, ref.RefID)
		case ChangeTask:
		}
	}
	messages, err := s.messages(ctx, task.ID, seqs)
	if err != nil {
		return nil, err
	}
	questions, err := s.questions(ctx, task, ids)
	if err != nil {
		return nil, err
	}
	changes := make([]Change, len(refs))
	for i, ref := range refs {
		changes[i] = Change{Rev: ref.Rev, Kind: ref.Kind}
		switch ref.Kind {
		case ChangeMessage:
			changes[i].Message = messages[ref.Seq]
		case ChangeInteraction:
			changes[i].Interaction = questions[ref.RefID]
		case ChangeTask:
			changes[i].Task = task.View()
		}
	}
	return changes, nil
}

func (s *Feeds) messages(ctx context.Context, taskID string, seqs []int64) (map[int64]*protocol.Message, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	found, err := s.Store.MessagesBySeq(ctx, taskID, seqs)
	messages := make(map[int64]*protocol.Message, len(found))
	for i := range found {
		messages[found[i].Seq] = &found[i].Message
	}
	return messages, err
}

func (s *Feeds) questions(ctx context.Context, task *Task, ids []string) (map[string]*protocol.Interaction, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := s.Store.TaskInteractions(ctx, task.ID, ids)
	questions := make(map[string]*protocol.Interaction, len(found))
	for i := range found {
		found[i].TaskTitle = task.Title
		questions[found[i].ID] = found[i].View()
	}
	return questions, err
}

// Hints returns the state of the user's tasks, the most recently changed first.
func (s *Feeds) Hints(ctx context.Context, userID string, limit int) ([]protocol.TaskHint, error) {
	return s.Store.Hints(ctx, userID, clamp(limit))
}

// Revs returns the rev of each task, in one query. Deleted tasks are included until
// they are purged.
func (s *Feeds) Revs(ctx context.Context, taskIDs []string) (map[string]int64, error) {
	if len(taskIDs) == 0 {
		return map[string]int64{}, nil
	}
	return s.Store.Revs(ctx, taskIDs)
}

// HintsSince returns the tasks of these users that changed at since or later,
// deleted tasks included. The times are from the clocks of the replicas that wrote
// the changes; readers overlap their windows by the clock skew they allow, and
// compare revs.
func (s *Feeds) HintsSince(ctx context.Context, userIDs []string, since time.Time) ([]UserHint, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return s.Store.HintsSince(ctx, userIDs, since)
}
