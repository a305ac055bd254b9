package agenthost

import (
	"context"

	"bellhop/agenthost/headless"
	"bellhop/protocol"
)

// Reply answers an open question by its line: answer or confirmation. A question
// that is not open (any more) is CodeNotFound, also for the same answer again.
func (h *Host) Reply(_ context.Context, sessionID string, line *protocol.Line) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	if line.RequestID == "" {
		return protocol.Errorf(protocol.CodeInvalid, "request_id is required")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.state.OpenQuestion(line.RequestID)
	if q == nil {
		return protocol.Errorf(protocol.CodeNotFound, "No open question %.100q", line.RequestID)
	}
	req, err := headless.ParseReply(line, q.Kind)
	if err != nil {
		return err
	}
	return s.answer(line.RequestID, req)
}
