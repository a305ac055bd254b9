package broker

import (
	"context"
	"strings"

	"bellhop/protocol"
)

// maxReason bounds what an error event leaves in a turn; the event keeps all.
const maxReason = 2000

// effect does to the task what protocol section 1.4 says of a new event.
func (e *edit) effect(ctx context.Context, a arrival) error {
	if err := e.begin(ctx, a); err != nil {
		return err
	}
	switch a.event.Type {
	case protocol.EventText:
		e.text(a)
	case protocol.EventToolCall:
		return e.toolCall(a)
	case protocol.EventToolResult:
		return e.toolResult(a)
	case protocol.EventFinish:
		return e.finish(ctx, a)
	case protocol.EventStatus:
		return e.status(ctx, a)
	case protocol.EventInteraction:
		return e.interaction(ctx, a)
	case protocol.EventError:
		return e.failure(ctx, a)
	}
	return nil // dropped and unknown types are only kept
}

// begin opens the turn of an event that shows work: a finish ends it at once,
// and a status other than busy may be about the program alone.
func (e *edit) begin(ctx context.Context, a arrival) error {
	if a.turn == "" || a.turn == e.task.OpenTurn || a.event.Type == protocol.EventFinish {
		return nil
	}
	if a.event.Type == protocol.EventStatus && a.event.Status != protocol.StatusBusy {
		return nil
	}
	t, err := e.turn(ctx, a.turn)
	if err != nil || t != nil && t.State != TurnAnnounced {
		return err
	}
	if t == nil {
		t = e.addTurn(Turn{ID: a.turn, AnnouncedAt: e.now})
	}
	if e.task.OpenTurn != "" {
		e.strayTurn = true // the host works on one turn at a time
	}
	e.openTurn(t)
	if a.event.Type != protocol.EventStatus {
		e.task.AgentStatus, e.task.Reason = protocol.StatusBusy, ""
	}
	return nil
}

func (e *edit) text(a arrival) {
	if a.event.Text == nil || *a.event.Text == "" {
		return
	}
	e.addMessage(Message{Message: protocol.Message{
		TurnID: a.turn, Role: protocol.RoleAssistant, Status: protocol.MessageSent,
		Message: *a.event.Text, EventID: a.id,
	}})
}

func (e *edit) finish(ctx context.Context, a arrival) error {
	if a.turn == "" {
		if e.task.OpenTurn == "" {
			e.setStatus(protocol.StatusIdle, "")
		}
		return nil
	}
	t, err := e.turn(ctx, a.turn)
	if err != nil {
		return err
	}
	if t == nil {
		t = e.addTurn(Turn{ID: a.turn, AnnouncedAt: e.now})
	}
	if t.State == TurnClosed {
		return nil
	}
	end := protocol.LastTurn{FinishReason: a.event.FinishReason, Reason: a.event.Reason, Usage: a.event.TotalUsage}
	if end.Reason == "" {
		end.Reason = t.Reason
	}
	if end.FinishReason == protocol.FinishOther && a.event.Reason == protocol.ReasonNotStarted {
		if err := e.failMessage(ctx, t.ID); err != nil {
			return err
		}
	}
	return e.closeTurn(ctx, t, end)
}

// status follows the host, except that busy raises nothing unless a turn is
// open, and that nothing of a former turn touches the open one.
func (e *edit) status(ctx context.Context, a arrival) error {
	if e.task.OpenTurn == "" {
		if a.event.Status != protocol.StatusBusy {
			e.setStatus(a.event.Status, a.event.Reason)
		}
		return nil
	}
	if a.turn != "" && a.turn != e.task.OpenTurn {
		t, err := e.turn(ctx, a.turn)
		if err != nil || t == nil || t.State != TurnOpen {
			return err
		}
	}
	e.setStatus(a.event.Status, a.event.Reason)
	return nil
}

func (e *edit) setStatus(status protocol.Status, reason string) {
	if e.task.AgentStatus != status || e.task.Reason != reason {
		e.task.AgentStatus, e.task.Reason = status, reason
		e.touch()
	}
}

// failure keeps what went wrong as the turn's reason, unless its finish has one.
func (e *edit) failure(ctx context.Context, a arrival) error {
	if a.turn == "" {
		return nil
	}
	t, err := e.turn(ctx, a.turn)
	if err != nil || t == nil || t.State == TurnClosed {
		return err
	}
	t.Reason = a.event.Message
	if len(t.Reason) > maxReason {
		t.Reason = strings.ToValidUTF8(t.Reason[:maxReason], "") + "…"
	}
	e.saveTurn(t)
	return nil
}

// interaction follows the host; resolved and expired are final. An open that
// comes after the end still tells what was asked.
func (e *edit) interaction(ctx context.Context, a arrival) error {
	ev := a.event
	q, err := e.question(ctx, ev.InteractionID)
	if err != nil {
		return err
	}
	if q == nil {
		q = e.keepQuestion(Interaction{ID: ev.InteractionID, TaskID: e.task.ID, CreatedAt: e.now})
	} else if q.State != protocol.InteractionOpen && ev.State != protocol.InteractionOpen {
		return nil
	}
	wasOpen := q.State == protocol.InteractionOpen
	if ev.State == protocol.InteractionOpen || q.State == "" {
		q.describe(ev, a.turn)
	}
	if q.State == "" || wasOpen {
		q.State = ev.State
	}
	if ev.Answer != nil {
		q.Answer = ev.Answer
	}
	isOpen := q.State == protocol.InteractionOpen
	switch {
	case isOpen && !wasOpen:
		e.task.OpenQuestions++
	case wasOpen && !isOpen:
		e.task.OpenQuestions--
	}
	e.saveQuestion(q)
	return nil
}

func (q *Interaction) describe(ev *protocol.Event, turn string) {
	q.TurnID, q.Kind, q.Prompt = turn, ev.Kind, ev.Prompt
	q.ToolCallID, q.ToolName, q.Args = ev.ToolCallID, ev.ToolName, ev.Args
	q.Level, q.Default, q.Options, q.ExpiresAt = ev.Level, ev.Default, ev.Options, ev.ExpiresAt
}
