package broker

import (
	"context"
	"errors"

	"bellhop/protocol"
)

// isActive reports whether turns of a user's queued messages may start.
func (q *Queue) isActive(ctx context.Context, userID string) (bool, error) {
	user, err := q.Store.User(ctx, userID)
	if err != nil {
		return false, err
	}
	return user.Active(), nil
}

// withhold keeps a message of a user who may not sign in. The queue is paused until resumeActive finds
// that the user may. A message that the host may have waits unpaused, because events may show that its
// turn began.
func (q *Queue) withhold(ctx context.Context, tx *queueTx, m *QueuedMessage) error {
	if m.State == queuedSent {
		return q.postpone(ctx, m, tx.now.Add(maxQueuePause))
	}
	m.State = queuedWaiting
	tx.pauseQueue(protocol.PauseDisabled, "")
	return q.Store.SaveQueued(ctx, m)
}

// resumeActive resumes the queues of users who may sign in again.
func (q *Queue) resumeActive(ctx context.Context) error {
	tasks, err := q.Store.WithheldQueues(ctx, queueBatch)
	for _, id := range tasks {
		_, failed := q.Updater.updateAnyTask(ctx, id, func(ctx context.Context, tx *taskTx) error {
			active, err := q.isActive(ctx, tx.task.UserID)
			if err != nil || !active || tx.task.Queue.Paused != protocol.PauseDisabled {
				return err
			}
			messages, err := q.Store.Queued(ctx, id)
			if err != nil {
				return err
			}
			return q.resume(ctx, &queueTx{tx, messages})
		})
		err = errors.Join(err, failed)
	}
	return err
}
