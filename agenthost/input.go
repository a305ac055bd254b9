package agenthost

import (
	"context"
	"strings"

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
	req := &protocol.AnswerRequest{Approved: line.Value, Remember: line.Remember, Reason: line.Reason}
	if line.Text != nil {
		req.Text = *line.Text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.questions[line.RequestID]
	switch {
	case line.RequestID == "":
		return protocol.Errorf(protocol.CodeInvalid, "request_id is required")
	case q == nil || s.turn == nil:
		return protocol.Errorf(protocol.CodeNotFound, "No open question %.100q", line.RequestID)
	case line.Type != replyTo(q.rec.Kind):
		return protocol.Errorf(protocol.CodeInvalid, "Question %s is answered by type %q", line.RequestID, replyTo(q.rec.Kind))
	case line.Type == protocol.LineAnswer && line.Text == nil:
		return protocol.Errorf(protocol.CodeInvalid, "An answer needs text")
	case line.Type == protocol.LineConfirmation && line.Value == nil:
		return protocol.Errorf(protocol.CodeInvalid, "A confirmation needs value")
	case line.Remember != "" && line.Remember != protocol.RememberSession:
		return protocol.Errorf(protocol.CodeInvalid, "remember must be \"session\" or absent")
	}
	return s.answer(q, req)
}

// replyTo is the type of the line that answers a kind of question.
func replyTo(kind protocol.InteractionKind) string {
	if kind == protocol.KindAsk {
		return protocol.LineAnswer
	}
	return protocol.LineConfirmation
}

// BeginInterrupt has the open turn stopped and does not wait for it; an idle
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
