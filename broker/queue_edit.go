package broker

import (
	"context"
	"slices"

	"bellhop/protocol"
)

// Change changes the text or the place of a message that waits. CodeNotFound: there is no such
// message. CodeConflict: it is being sent, or was sent.
func (q *Queue) Change(
	ctx context.Context, userID, taskID, id string, change protocol.QueuedMessageChange,
) (*protocol.QueuedMessage, error) {
	if err := checkQueuedChange(change); err != nil {
		return nil, err
	}
	var changed *protocol.QueuedMessage
	_, err := q.update(ctx, userID, taskID, func(ctx context.Context, tx *queueTx) error {
		at, err := q.waiting(ctx, tx, id)
		if err != nil {
			return err
		}
		if change.Message != nil {
			if err := q.rewrite(ctx, tx, &tx.messages[at], *change.Message); err != nil {
				return err
			}
		}
		if change.Position != nil {
			if err := q.move(ctx, tx, at, *change.Position); err != nil {
				return err
			}
		}
		tx.touchQueue()
		changed = tx.messages[tx.index(id)].View()
		return nil
	})
	return changed, err
}

func checkQueuedChange(change protocol.QueuedMessageChange) error {
	switch {
	case change.Message == nil && change.Position == nil:
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "Nothing to change", Hint: "Send message or position"}
	case change.Position != nil && *change.Position < 0:
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "position must not be negative", Hint: "0 is the next message",
		}
	case change.Message != nil:
		return checkQueuedText(*change.Message)
	}
	return nil
}

// waiting returns the index of a message that waits. CodeNotFound: there is no such message. CodeConflict: it is
// being sent, or was sent.
func (q *Queue) waiting(ctx context.Context, tx *queueTx, id string) (int, error) {
	at := tx.index(id)
	switch {
	case at >= 0 && tx.messages[at].State == queuedWaiting:
		return at, nil
	case at >= 0:
		return 0, &protocol.Error{
			Code: protocol.CodeConflict, Message: "The message is being sent",
			Hint: "Wait until the agent has it, then stop the agent",
		}
	}
	stored, err := q.Store.Message(ctx, tx.task.ID, id)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound || err == nil && stored.Role != protocol.RoleUser:
		return 0, protocol.Errorf(protocol.CodeNotFound, "Queued message not found")
	case err != nil:
		return 0, err
	}
	return 0, protocol.Errorf(protocol.CodeConflict, "The message has been sent")
}

func (q *Queue) rewrite(ctx context.Context, tx *queueTx, m *QueuedMessage, text string) error {
	if err := tx.fits(len(text)-len(m.Message), 0); err != nil {
		return err
	}
	switch _, err := q.Store.Message(ctx, m.TaskID, m.ID); {
	case err == nil:
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: "The message is in the task's history already",
			Hint: "Remove it from the queue, and queue another one",
		}
	case protocol.CodeOf(err) != protocol.CodeNotFound:
		return err
	}
	attachments, err := q.Store.QueuedAttachments(ctx, m.TaskID, m.ID)
	if err == nil {
		err = checkPromptSize(text, attachments)
	}
	if err != nil {
		return err
	}
	m.Bytes += len(text) - len(m.Message)
	m.Message = text
	return q.Store.SaveQueued(ctx, m)
}

// move gives a message another place among those that wait, and numbers all of them again.
func (q *Queue) move(ctx context.Context, tx *queueTx, at, position int) error {
	first := slices.IndexFunc(tx.messages, func(m QueuedMessage) bool { return m.State == queuedWaiting })
	moved := tx.messages[at]
	tx.messages = slices.Delete(tx.messages, at, at+1)
	tx.messages = slices.Insert(tx.messages, min(first+position, len(tx.messages)), moved)
	for i := range tx.messages {
		m := &tx.messages[i]
		if m.Position == int64(i) {
			continue
		}
		m.Position = int64(i)
		if err := q.Store.SaveQueued(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a message that waits. It returns the errors of Change.
func (q *Queue) Remove(ctx context.Context, userID, taskID, id string) error {
	_, err := q.update(ctx, userID, taskID, func(ctx context.Context, tx *queueTx) error {
		at, err := q.waiting(ctx, tx, id)
		if err != nil {
			return err
		}
		// An attempt that the host refused has left it in the history.
		if err := tx.markUndelivered(ctx, id, ""); err != nil && protocol.CodeOf(err) != protocol.CodeNotFound {
			return err
		}
		return q.drop(ctx, tx, at)
	})
	return err
}

// drop removes a message from the queue.
func (q *Queue) drop(ctx context.Context, tx *queueTx, at int) error {
	m := tx.messages[at]
	if tx.task.Queue.Now == m.ID {
		tx.task.Queue.Now = ""
	}
	tx.messages = slices.Delete(tx.messages, at, at+1)
	tx.touchQueue()
	return q.Store.RemoveQueued(ctx, m.TaskID, m.ID)
}

// SetPaused pauses or resumes the queue. Resuming makes the next message due at once.
func (q *Queue) SetPaused(
	ctx context.Context, userID, taskID string, change protocol.QueueChange,
) (*protocol.Queue, error) {
	if change.Paused == nil {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "paused is required", Hint: "Send false to resume the queue",
		}
	}
	_, err := q.update(ctx, userID, taskID, func(ctx context.Context, tx *queueTx) error {
		if *change.Paused {
			tx.pauseQueue(protocol.PauseStopped, "")
			return nil
		}
		return q.resume(ctx, tx)
	})
	if err != nil {
		return nil, err
	}
	return q.List(ctx, userID, taskID)
}

func (q *Queue) resume(ctx context.Context, tx *queueTx) error {
	if tx.task.Queue.Paused != "" {
		tx.task.Queue.Paused, tx.task.Queue.Reason = "", ""
		tx.touchQueue()
	}
	if len(tx.messages) == 0 || tx.messages[0].State != queuedWaiting || !tx.messages[0].DueAt.After(tx.now) {
		return nil
	}
	tx.messages[0].DueAt = tx.now
	return q.Store.SaveQueued(ctx, &tx.messages[0])
}

// SendNow makes a message the next one, resumes the queue, and stops the agent if it works on
// another turn. The errors are those of Change, and those of Sessions.Interrupt: the message
// is the next one even then.
func (q *Queue) SendNow(ctx context.Context, userID, taskID, id string) (*protocol.QueuedMessage, error) {
	var sent *protocol.QueuedMessage
	tx, err := q.update(ctx, userID, taskID, func(ctx context.Context, tx *queueTx) error {
		at, err := q.waiting(ctx, tx, id)
		if err != nil {
			return err
		}
		if tx.task.Archived {
			return errArchived()
		}
		if err := q.move(ctx, tx, at, 0); err != nil {
			return err
		}
		tx.task.Queue.Now = id
		tx.touchQueue()
		if err := q.resume(ctx, tx); err != nil {
			return err
		}
		sent = tx.messages[tx.index(id)].View()
		return nil
	})
	if err == nil && tx.task.OpenTurn != "" {
		_, err = q.Sessions.interrupt(ctx, userID, taskID, tx.task.OpenTurn)
	}
	return sent, err
}
