package agenthost

import (
	"context"

	"bellhop/protocol"
)

// Reply answers an open question by its line: answer or confirmation. A question
// that is not open (any more) is CodeNotFound, also for the same answer again.
func (h *Host) Reply(_ context.Context, sessionID string, line *protocol.Line) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	req := &protocol.AnswerRequest{Approved: line.Value, Remember: line.Remember, Reason: line.Reason}
	if line.Text != nil {
		req.Text = *line.Text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.state.OpenQuestion(line.RequestID)
	switch {
	case line.RequestID == "":
		return protocol.Errorf(protocol.CodeInvalid, "request_id is required")
	case q == nil:
		return protocol.Errorf(protocol.CodeNotFound, "No open question %.100q", line.RequestID)
	case line.Type != replyTo(q.Kind):
		return protocol.Errorf(protocol.CodeInvalid, "Question %s is answered by type %q", line.RequestID, replyTo(q.Kind))
	case line.Type == protocol.LineAnswer && line.Text == nil:
		return protocol.Errorf(protocol.CodeInvalid, "An answer needs text")
	case line.Type == protocol.LineConfirmation && line.Value == nil:
		return protocol.Errorf(protocol.CodeInvalid, "A confirmation needs value")
	case line.Remember != "" && line.Remember != protocol.RememberSession:
		return protocol.Errorf(protocol.CodeInvalid, "remember must be \"session\" or absent")
	}
	return s.answer(line.RequestID, req)
}

// replyTo is the type of the line that answers a kind of question.
func replyTo(kind protocol.InteractionKind) string {
	if kind == protocol.KindAsk {
		return protocol.LineAnswer
	}
	return protocol.LineConfirmation
}
