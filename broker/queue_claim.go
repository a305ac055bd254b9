package broker

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"bellhop/protocol"
)

// queuedSend is one attempt to send a queued message.
type queuedSend struct {
	q       *Queue
	user    string
	message QueuedMessage // as claimed
	resent  bool          // an earlier attempt may have reached the host
	force   bool          // a user wants it sent at once: an open terminal client is closed first
}

// claim takes the next message of a task, so that no other replica sends it while the lease
// lasts. It returns nil if there is nothing to send now.
func (q *Queue) claim(ctx context.Context, taskID string) (claimed *queuedSend, err error) {
	_, err = q.Updater.updateAnyTask(ctx, taskID, func(ctx context.Context, tx *taskTx) error {
		claimed = nil
		messages, err := q.Store.Queued(ctx, taskID)
		if err != nil || len(messages) == 0 || messages[0].DueAt.After(tx.now) {
			return err
		}
		inQueue := &queueTx{tx, messages}
		defer inQueue.countQueue()
		m := &messages[0]
		started, err := q.hasStarted(ctx, inQueue, m)
		if err != nil {
			return err
		}
		if started {
			return errors.Join(inQueue.markMessageSent(ctx, m.ID), q.drop(ctx, inQueue, 0))
		}
		if active, err := q.isActive(ctx, tx.task.UserID); err != nil {
			return err
		} else if !active {
			return q.withhold(ctx, inQueue, m)
		}
		ready, err := inQueue.ready(ctx, m)
		if err != nil {
			return err
		}
		if !ready {
			if m.State == queuedSending { // its attempt ended without an outcome, before the host could have the message
				m.State = queuedWaiting
				tx.touchQueue()
			}
			return q.postpone(ctx, m, tx.now.Add(queueBusy))
		}
		resent := m.State == queuedSent
		if !resent {
			m.State = queuedSending
			tx.touchQueue()
		}
		m.TurnID = protocol.DerivedID("queued turn", taskID, m.ID, strconv.Itoa(m.Turn))
		m.DueAt = tx.now.Add(cmp.Or(q.Lease, queueLease))
		claimed = &queuedSend{
			q: q, user: tx.task.UserID, message: *m, resent: resent, force: tx.task.Queue.Now == m.ID,
		}
		return q.Store.SaveQueued(ctx, m)
	})
	return claimed, err
}

// hasStarted reports whether the agent worked on a message already: as its last attempt, or
// as a check-in with its id. A restored database may have both the message and its turn.
func (q *Queue) hasStarted(ctx context.Context, tx *queueTx, m *QueuedMessage) (bool, error) {
	turnID := m.TurnID
	stored, err := q.Store.Message(ctx, m.TaskID, m.ID)
	if err == nil {
		turnID = stored.TurnID
	} else if protocol.CodeOf(err) != protocol.CodeNotFound {
		return false, err
	}
	if turnID == "" {
		return false, nil
	}
	t, err := tx.turn(ctx, turnID)
	return t.started(), err
}

// markMessageSent marks a message whose turn the host has begun.
func (tx *taskTx) markMessageSent(ctx context.Context, id string) error {
	message, err := tx.store.Message(ctx, tx.task.ID, id)
	if err == nil && message.Status == protocol.MessageSending {
		message.Status = protocol.MessageSent
		tx.changeMessage(message)
	}
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil // its turn is known without it
	}
	return err
}

// started reports whether the host has begun the turn. A nil turn has not.
func (t *Turn) started() bool {
	return t != nil && (t.State == TurnOpen || t.State == TurnClosed && t.Reason != protocol.ReasonNotStarted)
}

// ready reports whether the message's turn may start: the task is not archived and has no other
// unfinished turn, and the queue is not paused.
func (tx *queueTx) ready(ctx context.Context, m *QueuedMessage) (bool, error) {
	if tx.task.Archived || tx.task.Queue.Paused != "" {
		return false, nil
	}
	turns, err := tx.unfinishedTurns(ctx)
	for _, t := range turns {
		if t.ID != m.TurnID {
			return false, err
		}
	}
	return err == nil, err
}

func (q *Queue) postpone(ctx context.Context, m *QueuedMessage, at time.Time) error {
	m.DueAt = at
	return q.Store.SaveQueued(ctx, m)
}

// updateClaimed changes the claimed message, unless another attempt has taken or removed it.
func (s *queuedSend) updateClaimed(
	ctx context.Context, change func(ctx context.Context, tx *queueTx, m *QueuedMessage) error,
) (*taskTx, error) {
	return s.q.Updater.updateAnyTask(ctx, s.message.TaskID, func(ctx context.Context, tx *taskTx) error {
		messages, err := s.q.Store.Queued(ctx, s.message.TaskID)
		if err != nil {
			return err
		}
		inQueue := &queueTx{tx, messages}
		at := inQueue.index(s.message.ID)
		if at != 0 || messages[at].TurnID != s.message.TurnID || !messages[at].DueAt.Equal(s.message.DueAt) {
			return nil
		}
		defer inQueue.countQueue()
		return change(ctx, inQueue, &messages[at])
	})
}

// retryLater keeps the message for another attempt and stores why this one failed. failure is ""
// if the host works on another turn.
func (s *queuedSend) retryLater(ctx context.Context, failure string) error {
	_, err := s.updateClaimed(ctx, func(ctx context.Context, tx *queueTx, m *QueuedMessage) error {
		if m.State == queuedSending {
			m.State = queuedWaiting
		}
		m.Attempts++
		pause := queuePause(m.Attempts)
		if failure == "" {
			m.Attempts, pause = 0, queueBusy
		}
		m.Failure, m.DueAt = shortReason(failure), tx.now.Add(pause)
		tx.touchQueue()
		return s.q.Store.SaveQueued(ctx, m)
	})
	return err
}

// useNextTurn gives the message another turn: the host has not started this one, and never will.
func (s *queuedSend) useNextTurn(ctx context.Context, failure string) error {
	_, err := s.updateClaimed(ctx, func(ctx context.Context, tx *queueTx, m *QueuedMessage) error {
		if err := tx.endAnnounced(ctx, m.TurnID); err != nil {
			return err
		}
		m.Turn++
		m.Failure, m.DueAt = shortReason(failure), tx.now.Add(queueBusy)
		tx.touchQueue()
		return s.q.Store.SaveQueued(ctx, m)
	})
	return err
}

// waitForTerminal lets the message wait while the agent works in a terminal client. The host has not
// started its turn, so that the user may remove the message meanwhile.
func (s *queuedSend) waitForTerminal(ctx context.Context) error {
	_, err := s.updateClaimed(ctx, func(ctx context.Context, tx *queueTx, m *QueuedMessage) error {
		if err := tx.endAnnounced(ctx, m.TurnID); err != nil {
			return err
		}
		m.State, m.Attempts = queuedWaiting, 0
		m.Failure, m.DueAt = reasonAttached, tx.now.Add(queueAttached)
		tx.touchQueue()
		return s.q.Store.SaveQueued(ctx, m)
	})
	return err
}

// endAnnounced ends a turn that its host has not started.
func (tx *taskTx) endAnnounced(ctx context.Context, turnID string) error {
	t, err := tx.turn(ctx, turnID)
	if err == nil && t != nil && t.State == TurnAnnounced {
		tx.endTurn(t, protocol.LastTurn{FinishReason: protocol.FinishOther, Reason: protocol.ReasonNotStarted})
	}
	return err
}

// markSent stores the message and its turn, and that the host may receive the prompt from now on. It
// returns false if the message must not be sent: the queue was paused, the user disabled, or another turn
// began.
func (s *queuedSend) markSent(ctx context.Context, c *checkIn, place string) (marked bool, err error) {
	_, err = s.updateClaimed(ctx, func(ctx context.Context, tx *queueTx, m *QueuedMessage) error {
		marked = false
		ready, err := tx.ready(ctx, m)
		if err == nil && ready {
			ready, err = s.q.isActive(ctx, s.user)
		}
		if err != nil || !ready {
			return err
		}
		known, err := s.q.Sessions.checkedIn(ctx, c)
		if err != nil {
			return err
		}
		t, err := tx.turn(ctx, c.turnID)
		if err != nil || t.started() {
			return err // the next attempt finds it
		}
		tx.announceAs(c, known, t)
		m.State, m.Place, marked = queuedSent, place, true
		tx.touchQueue()
		return s.q.Store.SaveQueued(ctx, m)
	})
	return marked, err
}

// announceAs stores the message of a check-in whose turn has an id already.
func (tx *taskTx) announceAs(c *checkIn, known *Message, t *Turn) {
	if t == nil {
		t = tx.addTurn(Turn{ID: c.turnID, State: TurnAnnounced, AnnouncedAt: tx.now, MessageID: c.messageID})
	} else if t.State == TurnClosed { // its host was thought not to have started it
		t.State, t.FinishReason, t.Reason, t.FinishedAt = TurnAnnounced, "", "", nil
		tx.saveTurn(t)
	}
	tx.task.LastActivityAt = tx.now
	switch {
	case known == nil:
		tx.addMessage(Message{BodyHash: c.body.hash, Message: protocol.Message{
			ID: c.messageID, TurnID: t.ID, Role: protocol.RoleUser, Status: protocol.MessageSending,
			Message: c.req.Message, Artifacts: c.body.artifacts,
		}})
	case known.TurnID != t.ID || known.Status != protocol.MessageSending:
		known.TurnID, known.Status = t.ID, protocol.MessageSending
		tx.changeMessage(known)
	}
}

// removeDelivered removes the message, because the host has its prompt. stopped reports whether a user has
// stopped the agent meanwhile. The broker may have ended the turn then, before the host began it.
func (s *queuedSend) removeDelivered(ctx context.Context, host hostTraits) (stopped bool, err error) {
	_, err = s.updateClaimed(ctx, func(ctx context.Context, tx *queueTx, _ *QueuedMessage) error {
		t, err := tx.turn(ctx, s.message.TurnID)
		if err != nil {
			return err
		}
		over := t == nil || t.State == TurnClosed && t.Reason != protocol.ReasonAborted
		stopped = tx.task.Queue.Paused == protocol.PauseStopped && !over
		if err := tx.markDelivered(ctx, s.message.TurnID, host); err != nil {
			return err
		}
		return s.q.drop(ctx, tx, 0)
	})
	return stopped, err
}

// giveUp removes the message from the queue, which it pauses. The message stays in the task's
// history, where it can be sent again.
func (s *queuedSend) giveUp(ctx context.Context, why protocol.QueuePause, reason string) error {
	_, err := s.updateClaimed(ctx, func(ctx context.Context, tx *queueTx, _ *QueuedMessage) error {
		err := tx.markUndelivered(ctx, s.message.ID, s.message.TurnID)
		if err != nil && protocol.CodeOf(err) != protocol.CodeNotFound {
			return err
		}
		if err := s.q.drop(ctx, tx, 0); err != nil {
			return err
		}
		tx.pauseQueue(why, reason)
		return nil
	})
	return err
}
