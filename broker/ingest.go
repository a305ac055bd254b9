package broker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"bellhop/internal/failpoint"
	"bellhop/protocol"
)

// Ingest is the one place where events take effect; the webhook and the
// Reconciler are two ways in.
type Ingest struct {
	Store      Store
	Notifier   Notifier
	Reconciler *Reconciler // woken after a gap; may be nil
	Now        func() time.Time
	Log        *slog.Logger

	secrets secretCache
	last    lastSeen
}

// Inbound is an event as it was sent and as it was read.
type Inbound struct {
	Raw   json.RawMessage
	Event *protocol.Event
}

// Ingest stores events and their effects in one transaction, all or nothing.
// claimTurn is the turn of the webhook token. Errors are those of protocol
// section 1.4; in a batch Index names the first bad event. Two kinds of
// refusal leave a trace: events of an epoch that is over are kept as late, and
// a known id with other content is audited.
func (s *Ingest) Ingest(ctx context.Context, taskID, claimTurn string, events []Inbound) (*protocol.IngestResponse, error) {
	if len(events) == 0 {
		return nil, protocol.Errorf(protocol.CodeInvalid, "There is no event in the body")
	}
	arrivals, err := identify(taskID, claimTurn, events)
	if err != nil {
		return nil, err
	}
	out := s.append(ctx, taskID, arrivals)
	if out == nil {
		if out, err = s.transact(ctx, taskID, arrivals); err != nil {
			return nil, err
		}
	}
	failpoint.Hit("ingest-after-commit")
	if out.rev > 0 && s.Notifier != nil {
		s.Notifier.Changed(out.userID, taskID, out.rev)
	}
	if out.wake && s.Reconciler != nil {
		s.Reconciler.Wake(taskID)
	}
	if out.refused != nil {
		return nil, out.refused
	}
	return out.response, nil
}

// transact locks the task's row before anything else.
func (s *Ingest) transact(ctx context.Context, taskID string, arrivals []arrival) (*outcome, error) {
	var out *outcome
	attempt := func(look bool) error {
		return s.Store.Write(ctx, func(ctx context.Context) error {
			var err error
			out, err = s.ingest(ctx, taskID, arrivals, look)
			failpoint.Hit("ingest-before-commit")
			return err
		})
	}
	err := attempt(false)
	if errors.Is(err, ErrTaken) {
		err = attempt(true)
	}
	if err != nil {
		return nil, err
	}
	if out.task != nil {
		s.last.put(*out.task)
	}
	return out, nil
}

// outcome of a transaction that committed; a refusal may have left a trace.
type outcome struct {
	task     *Task // as the transaction left it, nil when it was refused
	userID   string
	rev      int64 // 0 when nothing that users see changed
	wake     bool
	refused  error
	response *protocol.IngestResponse
}

// ingest works on the locked task. Without look it trusts that events which go
// on exactly where the task's cursor stands are new; Apply finds out.
func (s *Ingest) ingest(ctx context.Context, taskID string, arrivals []arrival, look bool) (*outcome, error) {
	task, err := s.Store.LockTask(ctx, taskID)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil, errNotConfigured()
	}
	if err != nil {
		return nil, err
	}
	if task.DeletedAt != nil {
		return nil, protocol.Errorf(protocol.CodeGone, "Task deleted")
	}
	p := &placement{cursor: task.Cursor, seen: map[string]string{}}
	if look || !p.continues(arrivals) {
		if p.known, err = s.known(ctx, taskID, arrivals); err != nil {
			return nil, err
		}
	}
	if err := p.place(arrivals); err != nil {
		return s.refuse(ctx, task, p, arrivals, err)
	}
	e := newEdit(s.Store, task, at(s.Now))
	if err := s.preload(ctx, e, p.fresh); err != nil {
		return nil, err
	}
	for _, a := range p.fresh {
		e.batch.Events = append(e.batch.Events, a.stored(taskID, e.now, false))
		if err := e.effect(ctx, a); err != nil {
			return nil, err
		}
	}
	if len(p.fresh) > 0 {
		e.moved(p.cursor)
	}
	if err := e.save(ctx); err != nil {
		return nil, err
	}
	out := &outcome{task: task, userID: task.UserID, wake: e.strayTurn, response: &protocol.IngestResponse{
		Success: true, Accepted: len(p.fresh), Duplicates: len(arrivals) - len(p.fresh),
	}}
	if len(e.batch.Changes) > 0 {
		out.rev = task.Rev
	}
	if p.positioned {
		cursor := task.Cursor
		out.response.Cursor = &cursor
	}
	return out, nil
}

func (s *Ingest) known(ctx context.Context, taskID string, arrivals []arrival) (map[string]StoredEvent, error) {
	ids := make([]string, len(arrivals))
	for i, a := range arrivals {
		ids[i] = a.id
	}
	found, err := s.Store.KnownEvents(ctx, taskID, ids)
	if err != nil {
		return nil, err
	}
	known := make(map[string]StoredEvent, len(found))
	for _, f := range found {
		known[f.EventID] = f
	}
	return known, nil
}

// refuse keeps what a refusal leaves behind.
func (s *Ingest) refuse(ctx context.Context, task *Task, p *placement, arrivals []arrival, refusal error) (*outcome, error) {
	out := &outcome{refused: refusal}
	now := at(s.Now)
	var detail *protocol.Error
	errors.As(refusal, &detail)
	switch detail.Code {
	case protocol.CodeGap:
		out.wake = true
	case protocol.CodeFenced:
		batch := &Batch{Task: task}
		for _, a := range p.late {
			batch.Events = append(batch.Events, a.stored(task.ID, now, true))
		}
		if len(batch.Events) > 0 {
			return out, s.Store.Apply(ctx, batch)
		}
	case protocol.CodeConflict, protocol.CodeDiverged:
		bad := arrivals[p.bad]
		s.Log.WarnContext(ctx, "event refused", "task", task.ID, "event", bad.id, "code", string(detail.Code))
		return out, s.Store.Audit(ctx, &AuditEntry{
			ID: protocol.NewID(), TaskID: task.ID, What: string(detail.Code), EventID: bad.id, Body: bad.raw, At: now,
		})
	}
	return out, nil
}

// preload fetches in one query what several events may need.
func (s *Ingest) preload(ctx context.Context, e *edit, fresh []arrival) error {
	var calls []string
	for _, a := range fresh {
		if a.event.Type == protocol.EventToolCall || a.event.Type == protocol.EventToolResult {
			calls = append(calls, a.event.ToolCallID)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	found, err := s.Store.ToolMessages(ctx, e.task.ID, calls)
	if err != nil {
		return err
	}
	e.tools = map[string][]*Message{}
	for i := range found {
		m := &found[i]
		e.tools[m.ToolCallID] = append(e.tools[m.ToolCallID], m)
	}
	return nil
}
