package broker

import (
	"cmp"
	"context"
	"slices"

	"bellhop/protocol"
)

// reasonNoFinish is the reason of a turn whose host never reported its end.
const reasonNoFinish = "no-finish"

// turn returns a turn of the task, or nil.
func (tx *taskTx) turn(ctx context.Context, id string) (*Turn, error) {
	if t, loaded := tx.turns[id]; loaded {
		return t, nil
	}
	found, err := tx.store.Turns(ctx, tx.task.ID, []string{id})
	if err != nil {
		return nil, err
	}
	tx.cacheTurns(found)
	return tx.turns[id], nil
}

// cacheTurns adds turns to tx.turns, except those that it has already: this transaction may
// have changed them.
func (tx *taskTx) cacheTurns(turns []Turn) {
	if tx.turns == nil {
		tx.turns = map[string]*Turn{}
	}
	for i := range turns {
		if tx.turns[turns[i].ID] == nil {
			tx.turns[turns[i].ID] = &turns[i]
		}
	}
}

// unfinishedTurns returns the turns that are announced or open, oldest first.
func (tx *taskTx) unfinishedTurns(ctx context.Context) ([]*Turn, error) {
	found, err := tx.store.TurnsIn(ctx, tx.task.ID, TurnAnnounced, TurnOpen)
	if err != nil {
		return nil, err
	}
	tx.cacheTurns(found)
	var turns []*Turn
	for _, t := range tx.turns {
		if t.State != TurnClosed {
			turns = append(turns, t)
		}
	}
	slices.SortFunc(turns, func(a, b *Turn) int {
		return cmp.Or(a.AnnouncedAt.Compare(b.AnnouncedAt), cmp.Compare(a.ID, b.ID))
	})
	return turns, nil
}

func (tx *taskTx) addTurn(t Turn) *Turn {
	t.TaskID = tx.task.ID
	tx.cacheTurns([]Turn{t})
	added := tx.turns[t.ID]
	tx.saveTurn(added)
	return added
}

func (tx *taskTx) saveTurn(t *Turn) {
	if !slices.Contains(tx.savedTurns, t) {
		tx.savedTurns = append(tx.savedTurns, t)
	}
}

// stopAnnounced remembers that a user stopped the announced turns of a host with events, in case their check-ins
// are not done. While a turn is open, the user means that one.
func (tx *taskTx) stopAnnounced(ctx context.Context) error {
	if tx.task.OpenTurn != "" || !tx.task.HostEvents {
		return nil
	}
	turns, err := tx.unfinishedTurns(ctx)
	for _, t := range turns {
		t.Reason = protocol.ReasonAborted
		tx.saveTurn(t)
	}
	return err
}

// isStopped reports whether a user stopped a turn before its message reached the host, as far as is known. The first
// check-in of a task does not know yet that its host has events: then the turn was closed.
func (tx *taskTx) isStopped(ctx context.Context, turnID string) (bool, error) {
	t, err := tx.turn(ctx, turnID)
	if err != nil || t == nil || t.Reason != protocol.ReasonAborted || t.State == TurnOpen {
		return false, err
	}
	if t.State == TurnAnnounced {
		return true, nil
	}
	message, err := tx.turnMessage(ctx, turnID)
	return message != nil && message.Status == protocol.MessageSending, err
}

// openTurn marks a turn as open, at its first event.
func (tx *taskTx) openTurn(t *Turn) {
	t.State, t.Reason = TurnOpen, ""
	tx.saveTurn(t)
	tx.task.OpenTurn = t.ID
	tx.touch()
}

// closeTurn ends a turn. A closed turn is final.
func (tx *taskTx) closeTurn(ctx context.Context, t *Turn, end protocol.LastTurn) error {
	tx.endTurn(t, end)
	end.ID = t.ID
	tx.task.LastTurn = &end
	tx.pauseAfter(end)
	if err := tx.replaceOpenTurn(ctx, t.ID); err != nil {
		return err
	}
	tx.touch()
	if err := tx.settleTools(ctx, t.ID); err != nil {
		return err
	}
	return tx.expireQuestions(ctx, t.ID)
}

func (tx *taskTx) endTurn(t *Turn, end protocol.LastTurn) {
	t.State = TurnClosed
	t.FinishReason, t.Reason, t.Usage = end.FinishReason, end.Reason, end.Usage
	t.FinishedAt = &tx.now
	tx.saveTurn(t)
}

// replaceOpenTurn makes the newest turn that is still open the task's open turn, after
// another one was closed. If there is none, the agent is idle.
func (tx *taskTx) replaceOpenTurn(ctx context.Context, closed string) error {
	if tx.task.OpenTurn == closed {
		tx.task.OpenTurn = ""
		turns, err := tx.unfinishedTurns(ctx)
		if err != nil {
			return err
		}
		for _, other := range turns {
			if other.State == TurnOpen {
				tx.task.OpenTurn = other.ID
			}
		}
	}
	if tx.task.OpenTurn == "" {
		tx.task.AgentStatus, tx.task.Reason = protocol.StatusIdle, ""
	}
	return nil
}

// closeUnreported ends the unfinished turns that match. It is for hosts that do not
// report the end of a turn. A turn with events and without an error counts as done.
func (tx *taskTx) closeUnreported(ctx context.Context, match func(*Turn) bool) error {
	turns, err := tx.unfinishedTurns(ctx)
	if err != nil {
		return err
	}
	for _, t := range turns {
		if !match(t) {
			continue
		}
		end := protocol.LastTurn{FinishReason: protocol.FinishOther, Reason: cmp.Or(t.Reason, reasonNoFinish)}
		if last := tx.task.LastEventAt; t.State == TurnOpen && t.Reason == "" && last != nil && !last.Before(t.AnnouncedAt) {
			end.FinishReason = protocol.FinishStop // the agent worked, and no error is known
		}
		if err := tx.closeTurn(ctx, t, end); err != nil {
			return err
		}
	}
	return nil
}

// markUndelivered marks a message as not delivered to its host, unless it was delivered
// or checked in again in the meantime. An announced turn cannot start then, because no
// client has a token for it. A turn that the host has begun proves the delivery, which
// a restored database may not know. turnID "" means the message's turn.
func (tx *taskTx) markUndelivered(ctx context.Context, messageID, turnID string) error {
	message, err := tx.userMessage(ctx, messageID)
	if err != nil {
		return err
	}
	turnID = cmp.Or(turnID, message.TurnID)
	if message.Status != protocol.MessageSending || message.TurnID != turnID {
		return nil
	}
	t, err := tx.turn(ctx, turnID)
	if err != nil {
		return err
	}
	message.Status = protocol.MessageError
	if t.started() {
		message.Status = protocol.MessageSent
	}
	tx.changeMessage(message)
	if t == nil || t.State != TurnAnnounced {
		return nil
	}
	tx.endTurn(t, protocol.LastTurn{FinishReason: protocol.FinishOther, Reason: protocol.ReasonNotStarted})
	return nil
}

// undoNotStarted prepares a turn that the broker had closed as not started to be opened. The broker closes it
// when a check-in fails, but an event of the turn shows that its host has begun it. In a restored
// database, the check-in that delivered it may be missing.
func (tx *taskTx) undoNotStarted(ctx context.Context, t *Turn) error {
	t.FinishReason, t.Reason, t.FinishedAt = "", "", nil
	message, err := tx.turnMessage(ctx, t.ID)
	if err != nil || message == nil || message.Status != protocol.MessageError {
		return err
	}
	message.Status = protocol.MessageSent
	tx.changeMessage(message)
	return nil
}

// undoLost opens a turn again that was given up before its host was seen to begin it: the host has it, and begins. One
// that was lost in its middle stays closed.
func (tx *taskTx) undoLost(ctx context.Context, t *Turn) (undone bool, err error) {
	message, err := tx.turnMessage(ctx, t.ID)
	if err != nil || message == nil || message.Status != protocol.MessageError {
		return false, err
	}
	return true, tx.undoNotStarted(ctx, t)
}

// hostTraits are what a host announced about itself when it opened the session.
type hostTraits struct {
	events bool // it serves its events
	signs  bool // it signs its requests to the webhook

	credentials bool // it stores the credential of a stream token
	names       bool // it names the request in each answer
}

func traitsOf(response *protocol.OpenSessionResponse) hostTraits {
	return hostTraits{
		events: hasEvents(response), signs: slices.Contains(response.Capabilities, protocol.CapabilitySignatures),
		credentials: supportsCredentials(response),
		names:       slices.Contains(response.Capabilities, protocol.CapabilityNamedAnswers),
	}
}

func (tx *taskTx) setTraits(of hostTraits) {
	t := tx.task
	if known := (hostTraits{t.HostEvents, t.HostSigns, t.HostCredentials, t.HostNames}); known != of {
		t.HostEvents, t.HostSigns, t.HostCredentials, t.HostNames = of.events, of.signs, of.credentials, of.names
		tx.dirty = true
	}
}

// markDelivered marks the message of a turn as sent. A host without events does not
// report a turn that it dropped, so the earlier turns are closed here. It says nothing when a turn begins, either, so
// the turn is open from here on.
func (tx *taskTx) markDelivered(ctx context.Context, turnID string, host hostTraits) error {
	message, err := tx.turnMessage(ctx, turnID)
	if err != nil {
		return err
	}
	if message != nil && message.Status == protocol.MessageSending {
		message.Status = protocol.MessageSent
		tx.changeMessage(message)
	}
	tx.setTraits(host)
	if host.events {
		return nil
	}
	earlier := true
	err = tx.closeUnreported(ctx, func(t *Turn) bool {
		earlier = earlier && t.ID != turnID
		return earlier
	})
	if err != nil {
		return err
	}
	t, err := tx.turn(ctx, turnID)
	if err == nil && t != nil && t.State == TurnAnnounced {
		tx.openTurn(t)
		tx.task.AgentStatus, tx.task.Reason = protocol.StatusBusy, ""
	}
	return err
}
