package agenthost

import (
	"context"
	"strings"

	"bellhop/agenthost/headless"
	"bellhop/protocol"
)

// Input starts a turn for a client that watches the session's lines. Unlike
// Start it never attaches to a turn that was started before. CodeBusy, CodeNoTurn,
// CodePromptMismatch and CodeStorageFull as there.
func (h *Host) Input(_ context.Context, g Grant, req *protocol.PromptRequest) error {
	if strings.TrimSpace(req.Prompt) == "" && len(req.Attachments) == 0 {
		return protocol.Errorf(protocol.CodeInvalid, "An input needs text or attachments")
	}
	s, err := h.session(g.SessionID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone:
		return &protocol.Error{Code: protocol.CodeNotFound, Message: "Session not found"}
	case s.turn != nil:
		return &protocol.Error{
			Code: protocol.CodeBusy, Message: "An input is being worked on",
			Hint: "Wait for waiting_for_input, or send interrupt",
		}
	case g.Attach:
		return errNoTurn("This token reads, answers and interrupts; it starts no turn")
	case g.TurnID != "" && (s.announced == nil || s.announced.ID != g.TurnID):
		return errNoTurn("The turn of this token is over")
	}
	var stream *Stream
	if g.TurnID == "" {
		stream, err = s.startUnannounced(req)
	} else if err = checkPrompt(s.announced, req); err == nil {
		stream, err = s.start(*s.announced, req)
	}
	stream.Close()
	return err
}

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
	q := s.questions[line.RequestID]
	if q == nil || s.turn == nil {
		return protocol.Errorf(protocol.CodeNotFound, "No open question %.100q", line.RequestID)
	}
	req, err := headless.ParseReply(line, q.rec.Kind)
	if err != nil {
		return err
	}
	return s.answer(q, req)
}

// BeginInterrupt starts to stop the open turn and does not wait for its end; an idle
// session is no error.
func (h *Host) BeginInterrupt(sessionID string) error {
	s, err := h.session(sessionID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.turn; t != nil && t.stop == "" {
		t.beginStop(protocol.ReasonAborted)
	}
	return nil
}
