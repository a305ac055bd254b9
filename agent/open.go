package agent

import (
	"context"

	"bellhop/protocol"
)

// Session is one conversation for front ends that transport the lines themselves.
type Session struct {
	s      *session
	ctx    context.Context //nolint:containedctx // the lifetime of the session's turns, not of a call
	cancel context.CancelFunc
}

// Front has the callbacks of a session. The turn waits for them: they must not block for long
// or call the session.
type Front struct {
	Write          func(protocol.Line)  // sends a line of the agent
	Accepted       func(*protocol.Line) // called with a valid line of a client, before its effects; may be nil
	QuestionClosed func(string)         // called with the request_id of a question that ended without an answer; may be nil
}

// Open starts a session. Options.Task is ignored. The caller must Close it.
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

// Handle processes one line of a client. An invalid line changes nothing; the error is for the
// client that sent it, see Refusal.
func (s *Session) Handle(line *protocol.Line) error { return s.s.apply(s.ctx, line) }

// Refusal returns the status line that reports an invalid line to its client.
func Refusal(sessionID string, err error) protocol.Line {
	return protocol.Line{Type: protocol.LineStatus, SessionID: sessionID, Level: "error", Message: explain(err)}
}

// Close interrupts the turn, waits for its end and closes the working directory. It may be
// called again.
func (s *Session) Close() {
	s.cancel()
	s.s.end()
	_ = s.s.root.Close()
}
