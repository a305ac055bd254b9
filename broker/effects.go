package broker

import (
	"context"
	"slices"

	"bellhop/broker/sequencer"
	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// maxReason limits how many bytes of an error event become the turn's reason. The
// stored event keeps the full text.
const maxReason = 2000

// effects applies the effects of new events to a task.
type effects struct {
	*taskTx
	strayTurn bool // a turn began while another was open
}

// accept stores the accepted events and applies their effects.
func (e *effects) accept(ctx context.Context, d sequencer.Decision, events []incomingEvent) error {
	for _, i := range d.Moved {
		e.moveEvent(&events[i])
	}
	if len(d.Accepted)+len(d.Moved) == 0 {
		return nil
	}
	if err := e.loadTools(ctx, d, events); err != nil {
		return err
	}
	for _, i := range d.Accepted {
		if !slices.Contains(d.Moved, i) {
			e.addEvent(&events[i], false)
		}
		if err := e.effect(ctx, &events[i]); err != nil {
			return err
		}
	}
	e.moveCursor(d.Cursor)
	return nil
}

// loadTools loads the rows of all tool uses of the accepted events in one query.
func (e *effects) loadTools(ctx context.Context, d sequencer.Decision, events []incomingEvent) error {
	var calls []string
	for _, i := range d.Accepted {
		if in := events[i].event; in.Type == protocol.EventToolCall || in.Type == protocol.EventToolResult {
			calls = append(calls, in.ToolCallID)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	found, err := e.store.ToolMessages(ctx, e.task.ID, calls)
	if err != nil {
		return err
	}
	e.cacheTools(found)
	return nil
}

// effect applies the effects that protocol section 1.4 defines for an event.
func (e *effects) effect(ctx context.Context, in *incomingEvent) error {
	if err := e.begin(ctx, in); err != nil {
		return err
	}
	switch in.event.Type {
	case protocol.EventText:
		e.text(in)
	case protocol.EventToolCall:
		return e.toolCall(in)
	case protocol.EventToolResult:
		return e.toolResult(in)
	case protocol.EventFinish:
		return e.finish(ctx, in)
	case protocol.EventStatus:
		return e.status(ctx, in)
	case protocol.EventInteraction:
		return e.interaction(ctx, in)
	case protocol.EventError:
		return e.failure(ctx, in)
	}
	return nil // dropped and unknown types are stored without effects
}

// begin opens the turn of an event, if the event shows that the agent works on the turn. A finish does
// not open its turn. A status other than busy does not either, because it may
// concern the agent program alone.
func (e *effects) begin(ctx context.Context, in *incomingEvent) error {
	if in.turn == "" || in.event.Type == protocol.EventFinish {
		return nil
	}
	if in.turn == e.task.OpenTurn {
		if in.event.Type != protocol.EventStatus {
			e.wake()
		}
		return nil
	}
	if in.event.Type == protocol.EventStatus && in.event.Status != protocol.StatusBusy {
		return nil
	}
	t, err := e.turn(ctx, in.turn)
	switch {
	case err != nil:
	case t == nil:
		t, err = e.newTurn(ctx, in)
	case t.State == TurnClosed && t.Reason == protocol.ReasonNotStarted:
		err = e.undoNotStarted(ctx, t)
	case t.State == TurnClosed && t.Reason == protocol.ReasonHostLost:
		var undone bool
		if undone, err = e.undoLost(ctx, t); !undone {
			return err
		}
	case t.State != TurnAnnounced:
		return nil
	}
	if err != nil {
		return err
	}
	if e.task.OpenTurn != "" {
		e.strayTurn = true // the host works on one turn at a time
	}
	e.openTurn(t)
	if in.event.Type != protocol.EventStatus {
		e.task.AgentStatus, e.task.Reason = protocol.StatusBusy, ""
	}
	return nil
}

func (e *effects) text(in *incomingEvent) {
	if in.event.Text == nil || *in.event.Text == "" {
		return
	}
	m := protocol.Message{
		TurnID: in.turn, Role: protocol.RoleAssistant, Status: protocol.MessageSent,
		Message: *in.event.Text, EventID: in.id,
	}
	m.Describe(in.event)
	if failpoint.MutatedOnce("message-lost", 40) {
		return
	}
	e.addMessage(Message{Message: m})
}

func (e *effects) finish(ctx context.Context, in *incomingEvent) error {
	if in.turn == "" {
		if e.task.OpenTurn == "" {
			e.setStatus(protocol.StatusIdle, "")
		}
		return nil
	}
	t, err := e.turn(ctx, in.turn)
	if err != nil {
		return err
	}
	if t == nil {
		if t, err = e.newTurn(ctx, in); err != nil {
			return err
		}
	}
	if t.State == TurnClosed || failpoint.MutatedOnce("finish-lost", 5) {
		return nil
	}
	end := protocol.LastTurn{FinishReason: in.event.FinishReason, Reason: in.event.Reason, Usage: in.event.TotalUsage}
	if failpoint.MutatedOnce("usage-lost", 5) {
		end.Usage = nil
	}
	if end.Reason == "" {
		end.Reason = t.Reason
	}
	if end.FinishReason == protocol.FinishOther && in.event.Reason == protocol.ReasonNotStarted {
		if err := e.failMessage(ctx, t.ID); err != nil {
			return err
		}
	}
	return e.closeTurn(ctx, t, end)
}

// status stores the host's status, with two exceptions: busy counts only while a
// turn is open, and a status of an earlier turn does not change the open one.
func (e *effects) status(ctx context.Context, in *incomingEvent) error {
	if e.task.OpenTurn == "" {
		if in.event.Status != protocol.StatusBusy {
			e.setStatus(in.event.Status, in.event.Reason)
		}
		return nil
	}
	if in.turn != "" && in.turn != e.task.OpenTurn {
		t, err := e.turn(ctx, in.turn)
		if err != nil || t == nil || t.State != TurnOpen {
			return err
		}
	}
	e.setStatus(in.event.Status, in.event.Reason)
	return nil
}

func (e *effects) setStatus(status protocol.Status, reason string) {
	if e.task.AgentStatus != status || e.task.Reason != reason {
		e.task.AgentStatus, e.task.Reason = status, reason
		e.touch()
	}
}

// failure stores the text of an error as the turn's reason, in case its finish has
// none.
func (e *effects) failure(ctx context.Context, in *incomingEvent) error {
	if in.turn == "" {
		return nil
	}
	t, err := e.turn(ctx, in.turn)
	if err != nil || t == nil || t.State == TurnClosed {
		return err
	}
	t.Reason = shortReason(in.event.Message)
	e.saveTurn(t)
	return nil
}

// interaction stores the host's state of a question; resolved and expired are
// final. An open event that arrives after the end still adds the question's text.
func (e *effects) interaction(ctx context.Context, in *incomingEvent) error {
	ev := in.event
	q, err := e.question(ctx, ev.InteractionID)
	if err != nil {
		return err
	}
	if q == nil {
		q = e.cacheQuestion(Interaction{ID: ev.InteractionID, TaskID: e.task.ID, CreatedAt: e.now})
	} else if q.State != protocol.InteractionOpen && ev.State != protocol.InteractionOpen {
		return nil
	}
	wasOpen, isNew := q.State == protocol.InteractionOpen, q.State == ""
	if ev.State == protocol.InteractionOpen || isNew {
		q.describe(ev, in.turn)
	}
	if isNew || wasOpen {
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
	if q.State == protocol.InteractionResolved && (isNew || wasOpen) {
		e.auditAnswer(q)
	}
	e.saveQuestion(q)
	return nil
}

func (q *Interaction) describe(ev *protocol.Event, turn string) {
	q.TurnID, q.Kind, q.Prompt = turn, ev.Kind, ev.Prompt
	q.ToolCallID, q.ToolName, q.Args = ev.ToolCallID, ev.ToolName, ev.Args
	q.Level, q.Warning, q.Default, q.Options, q.ExpiresAt = ev.Level, ev.Warning, ev.Default, ev.Options, ev.ExpiresAt
}
