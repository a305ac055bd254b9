package broker

import (
	"context"
	"time"

	"bellhop/protocol"
)

// Updater changes tasks. All use cases share it, and no other code changes a task.
type Updater struct {
	Store    UpdateStore
	Notifier Notifier // may be nil
	Webhooks Webhooks // may be nil
	Queued   func()   // called when a queued message may be due; may be nil
	Now      func() time.Time
}

// UpdateStore is the part of the store that changes a task. All methods join the
// transaction of their context.
type UpdateStore interface {
	// Write runs fn in a transaction. After a deadlock it runs fn again, so fn must
	// not keep results of an earlier run.
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	// LockTask locks the task's row until the transaction ends. It also finds
	// deleted tasks.
	LockTask(ctx context.Context, id string) (*Task, error)
	// Apply writes a batch in as few statements as possible. It returns ErrTaken
	// when an event's id or (epoch,seq) is already stored.
	Apply(ctx context.Context, b *Batch) error

	Message(ctx context.Context, taskID, id string) (*Message, error)
	// TurnMessage returns the user's message of a turn.
	TurnMessage(ctx context.Context, taskID, turnID string) (*Message, error)
	// ToolMessages returns the rows with these tool call ids, by seq.
	ToolMessages(ctx context.Context, taskID string, toolCallIDs []string) ([]Message, error)
	// RunningTools are the tool rows of a turn that have a call and no result.
	RunningTools(ctx context.Context, taskID, turnID string) ([]Message, error)
	// LastAnswer returns the agent's newest message; CodeNotFound without one.
	LastAnswer(ctx context.Context, taskID string) (*Message, error)
	Turns(ctx context.Context, taskID string, ids []string) ([]Turn, error)
	// TurnsIn returns a task's turns in these states, oldest first.
	TurnsIn(ctx context.Context, taskID string, states ...TurnState) ([]Turn, error)
	TaskInteractions(ctx context.Context, taskID string, ids []string) ([]Interaction, error)
	OpenInteractions(ctx context.Context, taskID string) ([]Interaction, error)
}

// Notifier wakes the readers of a task.
type Notifier interface {
	// Changed is called after the commit of every change. It must not block.
	Changed(userID, taskID string, rev int64)
}

// taskChange changes a locked task. It may run more than once.
type taskChange func(ctx context.Context, tx *taskTx) error

// updateTask locks a user's task, runs change and saves the result, in one
// transaction; then it notifies the readers. Another user's or a deleted task is
// CodeNotFound.
func (u *Updater) updateTask(ctx context.Context, userID, taskID string, change taskChange) (*taskTx, error) {
	return u.update(ctx, taskID, func(ctx context.Context, tx *taskTx) error {
		if tx.task.UserID != userID || tx.task.DeletedAt != nil {
			return errTaskNotFound()
		}
		return change(ctx, tx)
	})
}

// updateAnyTask is updateTask for changes that the broker makes by itself, to a
// task of any user. It does not change a deleted task.
func (u *Updater) updateAnyTask(ctx context.Context, taskID string, change taskChange) (*taskTx, error) {
	return u.update(ctx, taskID, func(ctx context.Context, tx *taskTx) error {
		if tx.task.DeletedAt != nil {
			return nil
		}
		return change(ctx, tx)
	})
}

func (u *Updater) update(ctx context.Context, taskID string, change taskChange) (*taskTx, error) {
	var tx *taskTx
	err := u.Store.Write(ctx, func(ctx context.Context) error {
		task, err := u.Store.LockTask(ctx, taskID)
		if err != nil {
			return err
		}
		tx = u.begin(task)
		if err := change(ctx, tx); err != nil {
			return err
		}
		return tx.save(ctx)
	})
	if err != nil {
		return nil, err
	}
	if tx.changed() {
		u.notify(tx.task)
	}
	return tx, nil
}

// begin returns a taskTx for a task that the caller has locked.
func (u *Updater) begin(task *Task) *taskTx {
	return &taskTx{store: u.Store, webhooks: u.Webhooks, task: task, now: nowUTC(u.Now)}
}

func (u *Updater) notify(task *Task) {
	if u.Notifier != nil {
		u.Notifier.Changed(task.UserID, task.ID, task.Rev)
	}
	if u.Queued != nil && task.Queue.Messages > 0 && task.OpenTurn == "" {
		u.Queued()
	}
}

// nowUTC returns the time in the precision that the databases keep.
func nowUTC(now func() time.Time) time.Time { return now().UTC().Truncate(time.Microsecond) }

// heldUTC is nowUTC for what is removed or given up for ever.
func heldUTC(held, now func() time.Time) time.Time {
	if held != nil {
		now = held
	}
	return nowUTC(now)
}

func errTaskNotFound() error { return protocol.Errorf(protocol.CodeNotFound, "Task not found") }
