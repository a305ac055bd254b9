package headless

import "bellhop/protocol"

// ReplyType returns the type of the line that answers a kind of question.
func ReplyType(kind protocol.InteractionKind) string {
	if kind == protocol.KindAsk {
		return protocol.LineAnswer
	}
	return protocol.LineConfirmation
}

// ParseReply returns the answer in a client's line to an open question of the kind.
// CodeInvalid: the line is not an answer to it.
func ParseReply(line *protocol.Line, kind protocol.InteractionKind) (*protocol.AnswerRequest, error) {
	switch {
	case line.Type != ReplyType(kind):
		return nil, protocol.Errorf(protocol.CodeInvalid, "Question %s is answered by type %q",
			line.RequestID, ReplyType(kind))
	case line.Type == protocol.LineAnswer && line.Text == nil:
		return nil, protocol.Errorf(protocol.CodeInvalid, "An answer needs text")
	case line.Type == protocol.LineConfirmation && line.Value == nil:
		return nil, protocol.Errorf(protocol.CodeInvalid, "A confirmation needs value")
	case line.Remember != "" && line.Remember != protocol.RememberSession:
		return nil, protocol.Errorf(protocol.CodeInvalid, "remember must be \"session\" or absent")
	}
	req := &protocol.AnswerRequest{Approved: line.Value, Remember: line.Remember, Reason: line.Reason}
	if line.Text != nil {
		req.Text = *line.Text
	}
	return req, nil
}
