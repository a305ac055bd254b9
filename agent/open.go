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

// Open starts a session. write gets every line of the agent, one at a time per
// turn, and must not block for long: the turn waits for it. Options.Task is
// ignored. Close the session.
func Open(opts Options, write func(protocol.Line)) (*Session, error) {
	opts, err := opts.fill()
	if err != nil {
		return nil, err
	}
	s, err := newSession(opts, write)
	if err != nil {
		return nil, err
	}
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
