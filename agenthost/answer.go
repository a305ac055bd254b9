package agenthost

import (
	"context"
	"slices"

	"bellhop/agenthost/stream"
	"bellhop/protocol"
)

// Answer answers an open question; the first answer wins. The same answer again
// is no error; another one is CodeAnswered; after its time CodeExpired.
func (h *Host) Answer(ctx context.Context, sessionID, interactionID string, req *protocol.AnswerRequest) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	if req.Remember != "" && req.Remember != protocol.RememberSession {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: `remember must be "session" or absent`}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.questions[interactionID]
	if q == nil || s.turn == nil {
		return s.answeredBefore(ctx, interactionID, req)
	}
	if q.rec.Kind == protocol.KindConfirm && req.Approved == nil {
		return &protocol.Error{Code: protocol.CodeInvalid, Message: "approved is required", Hint: "This is a permission: send approved true or false"}
	}
	return s.answer(q, req)
}

// answer gives an open question its answer. The session's lock is held.
func (s *session) answer(q *question, req *protocol.AnswerRequest) error {
	t := s.turn
	err := t.stepLocked(func(b *batch) {
		answer := &protocol.InteractionAnswer{
			Approved: req.Approved, Reason: protocol.CutText(t.masker.Text(req.Reason), maxPhrase),
		}
		if q.rec.Kind == protocol.KindAsk {
			answer.Approved, answer.Text = nil, protocol.CutText(t.masker.Text(req.Text), maxText/8)
		}
		t.settle(b, q, protocol.InteractionResolved, answer)
		t.resume(b)
		if tool := q.rec.Question.ToolName; remembers(req, tool) && !slices.Contains(b.rec.Remembered, tool) {
			b.record().Remembered = append(slices.Clone(b.rec.Remembered), tool)
		}
	})
	if err != nil {
		return err
	}
	q.answer <- Answer{Approved: req.Approved != nil && *req.Approved, Text: req.Text, Reason: req.Reason}
	return nil
}

func remembers(req *protocol.AnswerRequest, tool string) bool {
	return req.Remember == protocol.RememberSession && tool != "" && req.Approved != nil && *req.Approved
}

// answeredBefore answers for a question that is no longer open.
func (s *session) answeredBefore(ctx context.Context, interactionID string, req *protocol.AnswerRequest) error {
	rec, err := s.host.opts.Journal.Interaction(ctx, s.id, interactionID)
	if err != nil {
		return err
	}
	if rec.State == protocol.InteractionExpired {
		return &protocol.Error{Code: protocol.CodeExpired, Message: "The question's time is over"}
	}
	if rec.Answer != nil && s.sameAnswer(rec, req) {
		return nil
	}
	return &protocol.Error{Code: protocol.CodeAnswered, Message: "The question was answered otherwise"}
}

func (s *session) sameAnswer(rec *InteractionRecord, req *protocol.AnswerRequest) bool {
	if rec.Kind == protocol.KindAsk {
		m := stream.NewMasker(s.host.opts.Secrets(s.id))
		return rec.Answer.Text == protocol.CutText(m.Text(req.Text), maxText/8)
	}
	return rec.Answer.Approved != nil && req.Approved != nil && *rec.Answer.Approved == *req.Approved
}
