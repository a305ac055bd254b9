package agenthost

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"bellhop/policy"
	"bellhop/protocol"
)

const (
	reasonInterrupted = "interrupted"
	reasonExpired     = "expired"
	reasonTurnEnded   = "turn-ended"
	reasonWithdrawn   = "withdrawn"
)

// question is an open interaction and the agent that waits for it.
type question struct {
	rec    InteractionRecord
	answer chan Answer // holds the one answer
	timer  *time.Timer
}

// ask puts a question to the user and waits.
func (t *turn) ask(ctx context.Context, kind protocol.InteractionKind, in Question) (Answer, error) {
	if kind == protocol.KindConfirm {
		if answer, settled, err := t.rule(&in); settled {
			return answer, err
		}
	}
	q, err := t.pose(kind, in)
	if q == nil {
		return Answer{Approved: err == nil}, err // remembered, or failed
	}
	select {
	case a := <-q.answer:
		return t.handOver(ctx, a)
	case <-ctx.Done():
	case <-t.ctx.Done():
		ctx = t.ctx
	}
	return t.withdraw(ctx, q)
}

// pose journals and announces a question; nil when the user has allowed the tool
// for the whole session.
func (t *turn) pose(kind protocol.InteractionKind, in Question) (*question, error) {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.stop != "" {
		return nil, protocol.Errorf(protocol.CodeNoTurn, "The turn is being stopped")
	}
	if kind == protocol.KindConfirm && s.remembers(in) {
		if t.over {
			return nil, protocol.Errorf(protocol.CodeNoTurn, "The turn is over")
		}
		return nil, nil
	}
	timeout := in.Timeout
	if timeout <= 0 {
		timeout = s.host.opts.InteractionTimeout
	}
	q := &question{answer: make(chan Answer, 1)}
	err := t.stepLocked(func(b *batch) {
		t.voice.end(b, t.rec.ID)
		q.rec = t.interaction(b, kind, in, timeout)
		b.event(t.rec.ID, q.rec.Question, t.questionPart(b, &q.rec), true)
		b.status(t.rec.ID, protocol.StatusIdle, reasonOpen(t.back != nil))
		b.w.Interactions = append(b.w.Interactions, q.rec)
		b.then(func() { s.questions[q.rec.ID] = q })
	})
	if err != nil {
		return nil, err
	}
	q.timer = time.AfterFunc(timeout, func() { s.host.spawn(func() { s.expire(q) }) })
	return q, nil
}

func (t *turn) interaction(b *batch, kind protocol.InteractionKind, in Question, timeout time.Duration) InteractionRecord {
	id := protocol.NewID()
	e := protocol.Event{
		Type: protocol.EventInteraction, InteractionID: id, State: protocol.InteractionOpen, Kind: kind,
		Prompt:     protocol.CutText(t.masker.Text(in.Prompt), maxPhrase),
		ToolCallID: protocol.CutText(protocol.SanitizeText(in.ToolCallID), protocol.MaxID),
		ToolName:   protocol.CutText(protocol.SanitizeText(in.ToolName), protocol.MaxID),
		Level:      protocol.CutText(protocol.SanitizeText(in.Level), protocol.MaxID),
		Default:    protocol.CutText(t.masker.Text(in.Default), maxPhrase),
		ExpiresAt:  b.now.Add(timeout).Format(time.RFC3339),
	}
	if e.Prompt == "" {
		e.Prompt = unworded(e.ToolName)
	}
	if len(in.Args) > 0 {
		e.Args, _ = protocol.CutValue(t.masker.Value(in.Args, "{}"), maxValue)
	}
	for _, option := range in.Options[:min(len(in.Options), 64)] {
		e.Options = append(e.Options, protocol.CutText(t.masker.Text(option), maxPhrase/64))
	}
	return InteractionRecord{
		SessionID: t.s.id, ID: id, TurnID: t.rec.ID, Kind: kind, State: protocol.InteractionOpen,
		Question: e, ExpiresAt: b.now.Add(timeout), CreatedAt: b.now,
	}
}

// remembers says whether the user has allowed the tool for the session. What is
// CRITICAL is asked all the same.
func (s *session) remembers(in Question) bool {
	return in.ToolName != "" && in.Level != string(policy.Critical) && slices.Contains(s.rec.Remembered, in.ToolName)
}

// unworded is the prompt of a confirm that came without one.
func unworded(tool string) string { return "Allow " + cmp.Or(tool, "this") + "?" }

func (t *turn) questionPart(b *batch, rec *InteractionRecord) *protocol.Part {
	q := &rec.Question
	if rec.Kind == protocol.KindAsk {
		return &protocol.Part{Type: protocol.PartDataAsk, ID: rec.ID, Data: b.encode(protocol.Ask{
			Prompt: q.Prompt, Default: q.Default, Options: q.Options,
		})}
	}
	return &protocol.Part{Type: protocol.PartToolApprovalRequest, ApprovalID: rec.ID, ToolCall: t.toolCall(rec)}
}

// toolCall is the call a confirm is about, as far as it is known.
func (t *turn) toolCall(rec *InteractionRecord) *protocol.ToolCall {
	q := &rec.Question
	out := &protocol.ToolCall{
		Type: "tool-call", ToolCallID: cmp.Or(q.ToolCallID, rec.ID), ToolName: cmp.Or(q.ToolName, "tool"), Input: q.Args,
	}
	if known := t.calls[q.ToolCallID]; known != nil {
		out.ToolName = known.name
		if out.Input == nil {
			out.Input = known.input
		}
	}
	if out.Input == nil {
		out.Input = []byte("{}")
	}
	return out
}

// settle closes a question in b.
func (t *turn) settle(b *batch, q *question, state protocol.InteractionState, answer *protocol.InteractionAnswer) {
	rec := q.rec
	rec.State, rec.Answer = state, answer
	e := rec.Question
	e.State, e.Answer = state, answer
	p := &protocol.Part{Type: protocol.PartDataAnswer, ID: rec.ID, Data: b.encode(map[string]any{"state": state, "answer": answer})}
	if rec.Kind == protocol.KindConfirm {
		approved, reason := false, reasonExpired
		if answer != nil {
			approved, reason = answer.Approved != nil && *answer.Approved, answer.Reason
		}
		p = &protocol.Part{
			Type: protocol.PartToolApprovalResponse, ApprovalID: rec.ID, ToolCall: t.toolCall(&rec), Approved: &approved, Reason: reason,
		}
	}
	b.event(rec.TurnID, e, p, t.voice.open == nil)
	b.w.Interactions = append(b.w.Interactions, rec)
	b.then(func() {
		q.rec = rec
		stopTimer(&q.timer)
		delete(t.s.questions, rec.ID)
	})
}

// resume tells that the agent goes on, unless another question is open.
func (t *turn) resume(b *batch) {
	if len(t.s.questions) <= 1 {
		b.status(t.rec.ID, protocol.StatusBusy, "")
	}
}

func (s *session) expire(q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || s.questions[q.rec.ID] != q {
		return
	}
	t := s.turn
	err := t.stepLocked(func(b *batch) {
		t.settle(b, q, protocol.InteractionExpired, nil)
		t.resume(b)
	})
	if err == nil {
		q.answer <- Answer{Expired: true, Reason: reasonExpired}
	}
}

// withdraw closes a question that the agent no longer waits for.
func (t *turn) withdraw(ctx context.Context, q *question) (Answer, error) {
	a, answered, expired := t.takeBack(ctx, q)
	switch {
	case answered && expired:
		return t.tooLate(), nil
	case answered: // it came at the same moment
		return a, nil
	case expired:
		return Answer{Expired: true, Reason: reasonExpired}, nil
	default:
		return Answer{}, context.Cause(ctx)
	}
}

// takeBack closes the question unless it is answered; expired is what ErrExpired
// asks for.
func (t *turn) takeBack(ctx context.Context, q *question) (a Answer, answered, expired bool) {
	expired = errors.Is(context.Cause(ctx), ErrExpired)
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	select {
	case a = <-q.answer:
		return a, true, expired
	default:
	}
	if t.s.questions[q.rec.ID] == q && t.stop == "" && t.ctx.Err() == nil {
		_ = t.stepLocked(func(b *batch) { // a failure ends the turn, which settles it
			if expired {
				t.settle(b, q, protocol.InteractionExpired, nil)
			} else {
				t.settleAs(b, q, reasonWithdrawn)
			}
			t.resume(b)
		})
	}
	return a, false, expired
}

// settleAs closes a question that nobody answered: a confirm is denied, an ask
// expires, and so does all that a dead program has asked.
func (t *turn) settleAs(b *batch, q *question, reason string) {
	if q.rec.Kind == protocol.KindAsk || reason == protocol.ReasonAgentExited {
		t.settle(b, q, protocol.InteractionExpired, nil)
		return
	}
	no := false
	t.settle(b, q, protocol.InteractionResolved, &protocol.InteractionAnswer{Approved: &no, Reason: reason})
}

// settleQuestions closes all open questions, then denies their calls, then says
// of the other unfinished calls that they came to nothing: a call without a
// result would look like a running one for ever.
func (t *turn) settleQuestions(b *batch, reason string) {
	open := t.s.openQuestions()
	denied := map[string]bool{}
	for _, q := range open {
		t.settleAs(b, q, reason)
		if q.rec.Kind == protocol.KindConfirm {
			denied[q.rec.Question.ToolCallID] = true
		}
	}
	unfinished := t.unfinishedCalls()
	for _, id := range unfinished {
		if denied[id] {
			t.result(b, ToolResult{ID: id, Denied: true})
		}
	}
	for _, id := range unfinished {
		if !denied[id] {
			t.result(b, ToolResult{ID: id, IsError: true, Output: b.encode("The turn ended before this tool had: " + reason)})
		}
	}
}

// unfinishedCalls are in the order they were made.
func (t *turn) unfinishedCalls() []string {
	var ids []string
	for id, c := range t.calls {
		if !c.done {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(t.calls[a].number, t.calls[b].number) })
	return ids
}

// endingReason is what open confirms are told when their turn ends.
func endingReason(reason string) string {
	switch reason {
	case protocol.ReasonAborted:
		return reasonInterrupted
	case "":
		return reasonTurnEnded
	default:
		return reason
	}
}

// openQuestions are in the order they were asked.
func (s *session) openQuestions() []*question {
	out := make([]*question, 0, len(s.questions))
	for _, q := range s.questions {
		out = append(out, q)
	}
	slices.SortFunc(out, func(a, b *question) int { return cmp.Compare(a.rec.ID, b.rec.ID) })
	return out
}
