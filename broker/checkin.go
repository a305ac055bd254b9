package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// CheckIn stores the user's message, then opens the session on the host. Every
// error after the message is stored carries messageId and turnId.
func (s *Sessions) CheckIn(ctx context.Context, userID string, req *protocol.CheckInRequest) (*protocol.CheckInResponse, error) {
	task, target, err := s.find(ctx, userID, req.TaskID)
	if errors.Is(err, errNowhere) {
		if err = s.placeLate(ctx, userID, req.TaskID); err == nil {
			task, target, err = s.find(ctx, userID, req.TaskID)
		}
	}
	if err != nil {
		return nil, err
	}
	body, err := checkMessage(req)
	if err == nil {
		err = checkReach(req.Reach)
	}
	if err != nil {
		return nil, err
	}
	sent, err := s.store(ctx, userID, req, body)
	if err != nil {
		return nil, err
	}
	failpoint.Hit("checkin-stored")
	answer, err := s.open(ctx, task, target, sent, req)
	failpoint.Hit("checkin-opened")
	// The outcome belongs to the message even if the caller has gone away.
	settled := s.settle(context.WithoutCancel(ctx), sent, answer, err)
	if err == nil {
		err = settled
	}
	if err != nil {
		return nil, sent.stamp(err)
	}
	reach, streamURL := s.route(ctx, task, target, req.Reach, answer)
	return &protocol.CheckInResponse{
		Success: true, SessionID: task.ID, StreamToken: answer.Token, StreamURL: streamURL, Reach: reach,
		MessageID: sent.messageID, TurnID: sent.turnID, ExpiresAt: s.expiry(answer),
	}, nil
}

// checkedIn is a stored message and its turn.
type checkedIn struct{ userID, taskID, messageID, turnID string }

// stamp adds what a frontend needs to try again.
func (c *checkedIn) stamp(err error) error {
	var known *protocol.Error
	stamped := protocol.Error{Code: protocol.CodeInternal, Message: "Internal error", Err: err}
	if errors.As(err, &known) {
		stamped = *known
	}
	fields := map[string]any{"messageId": c.messageID, "turnId": c.turnID}
	for k, v := range stamped.Fields {
		fields[k] = v
	}
	stamped.Fields = fields
	return &stamped
}

// store writes message and turn, or finds those of the same messageId.
func (s *Sessions) store(ctx context.Context, userID string, req *protocol.CheckInRequest, body *messageBody) (*checkedIn, error) {
	sent := &checkedIn{userID: userID, taskID: req.TaskID}
	var e *edit
	err := s.Store.Write(ctx, func(ctx context.Context) error {
		var err error
		if e, err = lock(ctx, s.Store, userID, req.TaskID, at(s.Now)); err != nil {
			return err
		}
		message, err := s.message(ctx, e, req, body)
		if err != nil {
			return err
		}
		sent.messageID, sent.turnID = message.ID, message.TurnID
		return e.save(ctx)
	})
	if err != nil {
		return nil, err
	}
	if len(e.batch.Changes) > 0 {
		s.notify(e.task)
	}
	return sent, nil
}

// message is the new message, or the one that was checked in before: after an
// error it gets another turn.
func (s *Sessions) message(ctx context.Context, e *edit, req *protocol.CheckInRequest, body *messageBody) (*Message, error) {
	var message *Message
	if req.MessageID != "" {
		found, err := s.Store.Message(ctx, req.TaskID, req.MessageID)
		switch {
		case protocol.CodeOf(err) == protocol.CodeNotFound:
		case err != nil:
			return nil, err
		case found.BodyHash != body.hash || found.Role != protocol.RoleUser:
			return nil, protocol.Errorf(protocol.CodeConflict, "Another message has this messageId")
		case found.Status != protocol.MessageError:
			return found, nil
		default:
			message = found
		}
	}
	turn := e.addTurn(Turn{ID: protocol.NewID(), State: TurnAnnounced, AnnouncedAt: e.now})
	e.task.LastActivityAt = e.now
	if message == nil {
		message = e.addMessage(Message{BodyHash: body.hash, Message: protocol.Message{
			ID: req.MessageID, TurnID: turn.ID, Role: protocol.RoleUser, Status: protocol.MessageSending,
			Message: req.Message, Artifacts: body.artifacts,
		}})
	} else {
		message.TurnID, message.Status = turn.ID, protocol.MessageSending
		e.changeMessage(message)
	}
	turn.MessageID = message.ID
	return message, nil
}

func (s *Sessions) open(ctx context.Context, task *Task, target Target, sent *checkedIn, req *protocol.CheckInRequest) (*protocol.OpenSessionResponse, error) {
	open, err := s.request(ctx, task, sent.turnID)
	if err != nil {
		return nil, err
	}
	open.Turn = &protocol.AnnouncedTurn{ID: sent.turnID}
	if req.BindPrompt {
		sum := sha256.Sum256([]byte(req.Message))
		open.Turn.PromptSHA256 = hex.EncodeToString(sum[:])
	}
	return s.Link.Open(ctx, target, open)
}

// settle notes whether the message reached its host.
func (s *Sessions) settle(ctx context.Context, sent *checkedIn, answer *protocol.OpenSessionResponse, failure error) error {
	var e *edit
	err := s.Store.Write(ctx, func(ctx context.Context) error {
		var err error
		if e, err = lock(ctx, s.Store, sent.userID, sent.taskID, at(s.Now)); err != nil {
			return err
		}
		if failure != nil {
			err = e.undelivered(ctx, sent.messageID, sent.turnID)
		} else {
			err = e.delivered(ctx, sent.turnID, hasEvents(answer))
		}
		if err != nil {
			return err
		}
		return e.save(ctx)
	})
	if err != nil {
		return err
	}
	if len(e.batch.Changes) > 0 {
		s.notify(e.task)
	}
	if failure == nil {
		s.compare(e.task, answer)
	}
	return nil
}

// delivered marks the message as sent. A host without events never tells of a
// turn it dropped, so its former turns end here.
func (e *edit) delivered(ctx context.Context, turnID string, events bool) error {
	message, err := e.turnMessage(ctx, turnID)
	if err != nil {
		return err
	}
	if message != nil && message.Status == protocol.MessageSending {
		message.Status = protocol.MessageSent
		e.changeMessage(message)
	}
	if e.task.HostEvents != events {
		e.task.HostEvents = events
		e.dirty = true
	}
	if events {
		return nil
	}
	return e.closeFormer(ctx, turnID)
}

// closeFormer closes every turn before turnID.
func (e *edit) closeFormer(ctx context.Context, turnID string) error {
	turns, err := e.unfinished(ctx)
	if err != nil {
		return err
	}
	for _, t := range turns {
		if t.ID == turnID {
			break
		}
		end := protocol.LastTurn{FinishReason: protocol.FinishOther, Reason: reasonNoFinish}
		if err := e.closeTurn(ctx, t, end); err != nil {
			return err
		}
	}
	return nil
}

// undelivered marks a message that did not reach its host. Its turn cannot
// start: nobody has a token for it.
func (e *edit) undelivered(ctx context.Context, messageID, turnID string) error {
	message, err := e.store.Message(ctx, e.task.ID, messageID)
	if err != nil {
		return err
	}
	if message.Status != protocol.MessageSending || message.TurnID != turnID {
		return nil
	}
	message.Status = protocol.MessageError
	e.changeMessage(message)
	t, err := e.turn(ctx, turnID)
	if err != nil || t == nil || t.State != TurnAnnounced {
		return err
	}
	t.State, t.FinishReason, t.Reason = TurnClosed, protocol.FinishOther, protocol.ReasonNotStarted
	t.FinishedAt = &e.now
	e.saveTurn(t)
	return nil
}

// reasonNoFinish ends a turn of a host that never said how it ended.
const reasonNoFinish = "no-finish"
