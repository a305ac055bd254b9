package agent

import (
	"context"
	"encoding/json"

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
	Write    func(protocol.Line)  // sends a line of the agent
	Accepted func(*protocol.Line) // called with a valid line of a client, before its effects; may be nil
	// QuestionClosed is called with the request_id of a question that ended without an answer; may be nil.
	QuestionClosed func(string)
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

// Hello returns the line that each client gets first.
func (s *Session) Hello() protocol.Line {
	line := s.s.hello()
	line.SessionID, line.Timestamp = s.s.bound.Load().(string), s.s.now()
	return line
}

// Now returns the timestamp of a line that is made now.
func (s *Session) Now() json.RawMessage { return s.s.now() }

// Refusal returns the status line that reports an invalid line to its client; the line is nil
// if it could not be read.
func Refusal(sessionID string, err error, line *protocol.Line) protocol.Line {
	return protocol.RefusalLine(sessionID, err, explain(err), line)
}

// Close interrupts the turn, waits for its end and closes the working directory. It may be
// called again.
func (s *Session) Close() {
	s.cancel()
	s.s.end()
	_ = s.s.root.Close()
}
