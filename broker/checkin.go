package broker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"

	"bellhop/internal/failpoint"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

// CheckIn stores the user's message, then opens the session on the host. Every
// error after the message is stored carries messageId and turnId.
func (s *Sessions) CheckIn(
	ctx context.Context, userID string, req *protocol.CheckInRequest,
) (*protocol.CheckInResponse, error) {
	ctx, operation := observe.Begin(ctx, s.Observer, observe.Start{Operation: observe.CheckIn})
	response, err := s.checkInAndOpen(ctx, userID, req)
	operation.End(observe.Outcome{Err: err})
	return response, err
}

func (s *Sessions) checkInAndOpen(
	ctx context.Context, userID string, req *protocol.CheckInRequest,
) (*protocol.CheckInResponse, error) {
	c, err := s.checkIn(ctx, userID, req)
	if err == nil {
		err = s.allowCheckIn(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	if err := s.announce(ctx, c); err != nil {
		return nil, err
	}
	failpoint.Hit("checkin-stored")
	response, err := s.openTurn(ctx, c)
	failpoint.Hit("checkin-opened")
	// Store the outcome of the message even if the client has disconnected.
	settled := s.settle(context.WithoutCancel(ctx), c, response, err)
	if err == nil {
		err = settled
	}
	if err == nil {
		err = s.checkCredential(ctx, response)
	}
	if err != nil {
		return nil, c.withIDs(err)
	}
	reach, streamURL := s.route(ctx, &c.session, req.Reach, response)
	return &protocol.CheckInResponse{
		Success: true, SessionID: c.task.ID, StreamToken: response.Token, StreamURL: streamURL, Reach: reach,
		MessageID: c.messageID, TurnID: c.turnID, ExpiresAt: s.expiry(response),
		Capabilities: response.Capabilities,
	}, nil
}

// allowCheckIn returns CodeQuota when the message would exceed what its user may store. A repeated check-in
// stores no further message.
func (s *Sessions) allowCheckIn(ctx context.Context, c *checkIn) error {
	refused := s.Quotas.allowMessage(ctx, c.task.UserID, sizeOf(c.req.Message, c.req.Artifacts))
	if protocol.CodeOf(refused) != protocol.CodeQuota {
		return refused
	}
	if known, err := s.checkedIn(ctx, c); known != nil || err != nil {
		return err
	}
	return refused
}

// sizeOf returns the bytes of a message and its artifacts.
func sizeOf(message string, artifacts []protocol.ArtifactInput) int {
	size := len(message)
	for i := range artifacts {
		size += len(artifacts[i].Content)
	}
	return size
}

// checkIn is a validated request. announce fills in the ids of its message and
// turn.
type checkIn struct {
	session
	req               *protocol.CheckInRequest
	body              *messageBody
	messageID, turnID string
	rev               int64 // of the task, with the message
}

func (s *Sessions) checkIn(ctx context.Context, userID string, req *protocol.CheckInRequest) (*checkIn, error) {
	incarnation := s.Incarnation.ID()
	found, err := s.openable(ctx, userID, req.TaskID)
	if err != nil {
		return nil, err
	}
	task, target, err := s.placed(ctx, found)
	if err != nil {
		return nil, err
	}
	body, err := checkMessage(req)
	if err == nil {
		err = errors.Join(checkReach(req.Reach), req.PermissionMode.Check())
	}
	at := session{task, target, found.WebhookSecret, incarnation}
	return &checkIn{session: at, req: req, body: body, rev: task.Rev}, err
}

// placed returns the task with its target. A task that has no host yet gets one.
func (s *Sessions) placed(ctx context.Context, found *OpenableTask) (*Task, Target, error) {
	task := &found.Task
	if !s.Targets.missing(task) {
		target, err := s.Targets.ofFound(found)
		return task, target, err
	}
	task, err := s.placeLate(ctx, task)
	if err != nil {
		return nil, Target{}, err
	}
	target, err := s.Targets.of(ctx, task)
	return task, target, err
}

// withIDs adds messageId and turnId to an error, so that a frontend can try again.
func (c *checkIn) withIDs(err error) error {
	var known *protocol.Error
	extended := protocol.Error{Code: protocol.CodeInternal, Message: "Internal error", Err: err}
	if errors.As(err, &known) {
		extended = *known
	}
	fields := map[string]any{"messageId": c.messageID, "turnId": c.turnID}
	for k, v := range extended.Fields {
		fields[k] = v
	}
	extended.Fields = fields
	return &extended
}

// announce stores message and turn, or finds those of an earlier check-in with the
// same messageId.
func (s *Sessions) announce(ctx context.Context, c *checkIn) error {
	if done, err := s.announceAtOnce(ctx, c); err != nil || done {
		return err
	}
	tx, err := s.Updater.updateTask(ctx, c.task.UserID, c.task.ID, func(ctx context.Context, tx *taskTx) error {
		message, err := s.checkedIn(ctx, c)
		if err != nil {
			return err
		}
		if message == nil || message.Status == protocol.MessageError {
			message = tx.announce(c, message)
		}
		c.messageID, c.turnID = message.ID, message.TurnID
		return nil
	})
	if err == nil {
		c.rev = tx.task.Rev
	}
	return err
}

// announceAtOnce stores a new message and its turn in one statement. It returns false when
// that is not possible; then a transaction finds out why.
func (s *Sessions) announceAtOnce(ctx context.Context, c *checkIn) (bool, error) {
	if !s.Store.Announces() {
		return false, nil
	}
	task := *c.task
	tx := s.Updater.begin(&task)
	message := tx.announce(c, nil)
	rev, err := s.Store.Announce(ctx, task.UserID, message, tx.turns[message.TurnID])
	if err != nil || rev == 0 {
		return false, err
	}
	c.messageID, c.turnID, c.rev = message.ID, message.TurnID, rev
	task.Rev = rev
	s.Updater.notify(&task)
	return true, nil
}

// checkedIn returns the message of an earlier check-in with this messageId, or nil.
func (s *Sessions) checkedIn(ctx context.Context, c *checkIn) (*Message, error) {
	if c.req.MessageID == "" {
		return nil, nil
	}
	message, err := s.Store.Message(ctx, c.task.ID, c.req.MessageID)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case message.BodyHash != c.body.hash || message.Role != protocol.RoleUser:
		return nil, protocol.Errorf(protocol.CodeConflict, "Another message has this messageId")
	}
	return message, nil
}

// announce adds a turn for a new message, or another turn for a message that failed
// before.
func (tx *taskTx) announce(c *checkIn, failed *Message) *Message {
	turn := tx.addTurn(Turn{ID: protocol.NewID(), State: TurnAnnounced, AnnouncedAt: tx.now})
	tx.task.LastActivityAt = tx.now
	message := failed
	if message == nil {
		message = tx.addMessage(Message{BodyHash: c.body.hash, Message: protocol.Message{
			ID: c.req.MessageID, TurnID: turn.ID, Role: protocol.RoleUser, Status: protocol.MessageSending,
			Message: c.req.Message, Artifacts: c.body.artifacts,
		}})
	} else {
		message.TurnID, message.Status = turn.ID, protocol.MessageSending
		tx.changeMessage(message)
	}
	turn.MessageID = message.ID
	return message
}

// openTurn opens the session on the host with the announced turn.
func (s *Sessions) openTurn(ctx context.Context, c *checkIn) (*protocol.OpenSessionResponse, error) {
	response, err := s.openAnnounced(ctx, c)
	if later := (LaterCheckInError{}); errors.As(err, &later) && s.endsIncarnation(ctx, c, later) {
		return s.openAnnounced(ctx, c)
	}
	return response, err
}

// LaterCheckInError is the cause of a host's refusal of a turn, because it has one of a later check-in.
type LaterCheckInError struct{ Rev int64 } // of the task at that check-in

func (e LaterCheckInError) Error() string {
	return "the host has the turn of a check-in at revision " + strconv.FormatInt(e.Rev, 10)
}

// endsIncarnation ends the database's incarnation if the database does not have the check-in that the host has: it was
// restored, and that was not noticed. c is of the present one then.
func (s *Sessions) endsIncarnation(ctx context.Context, c *checkIn, later LaterCheckInError) bool {
	if c.incarnation == "" {
		return false
	}
	task, err := s.Store.Task(ctx, c.task.UserID, c.task.ID)
	if err != nil || task.Rev >= later.Rev || s.Incarnation.end(ctx, c.incarnation) != nil {
		return false
	}
	at, err := s.find(ctx, c.task.UserID, c.task.ID)
	if err != nil {
		return false
	}
	c.session, c.rev = *at, at.task.Rev
	return true
}

func (s *Sessions) openAnnounced(ctx context.Context, c *checkIn) (*protocol.OpenSessionResponse, error) {
	open, err := s.openRequest(&c.session, c.turnID)
	if err != nil {
		return nil, err
	}
	open.Turn = &protocol.AnnouncedTurn{ID: c.turnID, MessageID: c.messageID, Rev: c.rev}
	if c.req.BindPrompt {
		sum := sha256.Sum256([]byte(c.req.Message))
		open.Turn.PromptSHA256 = hex.EncodeToString(sum[:])
	}
	open.PermissionMode = cmp.Or(c.req.PermissionMode, c.task.PermissionMode)
	response, err := s.open(ctx, &c.session, open)
	if err == nil {
		err = checkKnowsBranches(open, response)
	}
	if err == nil && open.Workspace != "" && !slices.Contains(response.Capabilities, protocol.CapabilityWorkspaces) {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The agent host has no workspaces that tasks can name",
			Hint: "It was replaced by another one: create a task without a workspace",
		}
	}
	if mode := open.PermissionMode; err == nil && mode != "" && mode != response.PermissionMode {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The agent host does not know permission modes",
			Hint: "Leave permissionMode out of message and task",
		}
	}
	return response, err
}

// stopOpened stops a turn that a user stopped while its check-in was under way: the host did not know it then.
// No client has a token for the turn yet, so its prompt comes later.
func (s *Sessions) stopOpened(ctx context.Context, c *checkIn, host hostTraits) error {
	target := c.target
	target.Events, target.Names = true, host.names
	err := s.Link.Interrupt(ctx, target, c.task.ID, c.turnID)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil // its host ended the session, and with it the turn
	}
	return err
}

// settle records whether the message reached its host. If the task was deleted while the
// host opened the session, the session must end.
func (s *Sessions) settle(
	ctx context.Context, c *checkIn, response *protocol.OpenSessionResponse, failure error,
) error {
	stopped := false
	tx, err := s.Updater.updateTask(ctx, c.task.UserID, c.task.ID, func(ctx context.Context, tx *taskTx) (err error) {
		if failure != nil {
			return tx.markUndelivered(ctx, c.messageID, c.turnID)
		}
		if stopped, err = tx.isStopped(ctx, c.turnID); err != nil {
			return err
		}
		tx.setPermissionMode(ctx, c.req.PermissionMode)
		return tx.markDelivered(ctx, c.turnID, traitsOf(response))
	})
	switch {
	case failure != nil:
	case err == nil:
		s.wakeIfTurnsDiffer(tx.task, response)
		if stopped && hasEvents(response) {
			return s.stopOpened(ctx, c, traitsOf(response))
		}
	case protocol.CodeOf(err) == protocol.CodeNotFound && hasEvents(response):
		return errors.Join(err, s.Ends.addOwedEndAgain(ctx, c.task))
	}
	return err
}
