package agent

import (
	"context"

	"bellhop/protocol"
)

// Session is one conversation for front ends that carry the lines themselves.
type Session struct {
	s      *session
	ctx    context.Context //nolint:containedctx // the life of the session's turns, not of a call
	cancel context.CancelFunc
}

// Front is what a session tells its front end. No member may block for long, or
// call the session: the turn waits for it.
type Front struct {
	Write     func(protocol.Line)  // a line of the agent
	Accepted  func(*protocol.Line) // a client's line that broke no rule, before what follows from it; may be nil
	Withdrawn func(string)         // the request_id of a question that ended without an answer; may be nil
}

// Open starts a session. Options.Task is ignored. Close the session.
func Open(opts Options, front Front) (*Session, error) {
	opts, err := opts.fill()
	if err != nil {
		return nil, err
	}
	s, err := newSession(opts, front.Write)
	if err != nil {
		return nil, err
	}
	s.front = front
	ctx, cancel := context.WithCancel(context.Background())
	return &Session{s: s, ctx: ctx, cancel: cancel}, nil
}

// Handle takes one line of a client. A line that breaks a rule changes nothing;
// the error is for the client that sent it, see Refusal.
func (s *Session) Handle(line *protocol.Line) error { return s.s.apply(s.ctx, line) }

// Refusal is the line that tells a client what was wrong with its own.
func Refusal(sessionID string, err error) protocol.Line {
	return protocol.Line{Type: protocol.LineStatus, SessionID: sessionID, Level: "error", Message: explain(err)}
}

// Close interrupts the turn, waits for its end and lets the working directory
// go. It may be called again.
func (s *Session) Close() {
	s.cancel()
	s.s.end()
	_ = s.s.root.Close()
}
