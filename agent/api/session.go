package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"

	"bellhop/agent"
	"bellhop/agent/api/history"
	"bellhop/crypto/token"
	"bellhop/internal/wsline"
	"bellhop/protocol"
)

// session is one agent session and its clients.
type session struct {
	id        string
	model     string
	created   time.Time
	tokenHash []byte
	isFree    bool // its id alone opens it: a client without a token named it
	dir       string
	leave     func() // removes dir, if it is not kept
	hub       *wsline.Hub
	agent     *agent.Session
	close     func()
	record    *record // nil: the history ends with the session
	ended     sync.Once
	senders   sync.Map // line that is being handled → the *wsline.Watcher that sent it
}

// newSession returns a session that is not open yet. plain is its token.
func (s *Server) newSession(id string) (one *session, plain string) {
	one = &session{id: id, created: s.config.Now(), hub: wsline.NewHub(s.config.Limits, s.config.Now)}
	plain, one.tokenHash = token.NewOpaque("bhs_")
	return one, plain
}

// open opens a new session.
func (s *Server) open(ctx context.Context, one *session, model, instructions string) error {
	if err := s.reserve(); err != nil {
		return err
	}
	err := s.makeDir(one)
	if err == nil {
		err = s.begin(ctx, one, model, instructions)
	}
	if err != nil {
		one.end(endFailed)
		_ = s.release(nil)
		return err
	}
	if err := s.release(one); err != nil {
		one.end(endStopped)
		return err
	}
	s.config.Log.Info("session begins", "session", one.id, "model", one.model)
	return nil
}

// reserve counts a session that is being opened. release ends that and, unless one is nil, adds
// the session.
func (s *Server) reserve() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return protocol.Errorf(protocol.CodeUnavailable, "The server stops")
	}
	if len(s.sessions)+s.opening >= s.config.MaxSessions {
		return &protocol.Error{
			Code:    protocol.CodeTooManyRequests,
			Message: fmt.Sprintf("There are %d sessions, which is the limit", s.config.MaxSessions),
			Hint:    "Delete sessions that are not needed", RetryAfter: 10,
		}
	}
	s.opening++
	return nil
}

func (s *Server) release(one *session) error {
	defer s.wake()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening--
	if s.stopped {
		return protocol.Errorf(protocol.CodeUnavailable, "The server stops")
	}
	if one != nil {
		s.sessions[one.id] = one
	}
	return nil
}

// makeDir creates the working directory.
func (s *Server) makeDir(one *session) (err error) {
	if s.config.Workspaces == "" {
		one.dir, err = os.MkdirTemp("", "bellhop-agent-")
		one.leave = func() { _ = os.RemoveAll(one.dir) }
	} else {
		one.dir, err = s.makeWorkspace(one.id)
		one.leave = func() { s.leaveWorkspace(one.id) }
	}
	if errors.Is(err, fs.ErrExist) {
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: "A directory with the session's id exists already", Hint: "Choose another id",
		}
	}
	if err != nil {
		return fmt.Errorf("make working directory: %w", err)
	}
	return nil
}

// begin opens the agent of a session through Config.Open.
func (s *Server) begin(ctx context.Context, one *session, model, instructions string) error {
	opened, err := s.config.Open(ctx, Opening{ID: one.id, Dir: one.dir, Model: model, Instructions: instructions})
	if err != nil {
		return err
	}
	one.close = opened.Close
	opts := opened.Options
	opts.Dir, opts.SessionID, opts.Task, opts.Version = one.dir, one.id, "", s.config.Version
	if opts.Log == nil {
		opts.Log = s.config.Log.With("session", one.id)
	}
	one.model = opts.Model
	one.agent, err = agent.Open(opts, agent.Front{
		Write:          one.hub.Publish,
		Accepted:       one.accepted,
		QuestionClosed: one.questionClosed,
	})
	if err == nil {
		one.hub.Greet(one.agent.Hello())
	}
	if one.model == "" {
		one.model = agent.ModelDemo
	}
	if err == nil {
		err = s.beginHistory(ctx, one)
	}
	return err
}

// accepted records a client's line and shows the other clients what came of it. Attachments
// are named, not repeated.
func (one *session) accepted(line *protocol.Line) {
	kept := line.Named()
	kept.SessionID, kept.Timestamp = one.id, one.agent.Now()
	from, _ := one.senders.Load(line)
	sender, _ := from.(*wsline.Watcher)
	one.hub.Accepted(kept, sender)
	if line.Type == protocol.LineAnswer || line.Type == protocol.LineConfirmation {
		one.resolved(line.RequestID, protocol.ByStreamToken)
	}
}

func (one *session) questionClosed(id string) {
	one.hub.QuestionClosed(id)
	one.resolved(id, protocol.ByInterrupt)
}

func (one *session) resolved(id, by string) {
	one.hub.Publish(protocol.Line{
		Type: protocol.LineResolved, SessionID: one.id, Timestamp: one.agent.Now(), RequestID: id, By: by,
	})
}

// handle processes a client's line. Only that client gets the error. A blank line is ignored.
func (one *session) handle(w *wsline.Watcher, raw []byte) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return
	}
	line, err := protocol.ParseLine(raw)
	if err == nil && line.Type == protocol.LineInput && one.hub.Status().Full {
		err = protocol.Errorf(protocol.CodeStorageFull, "The session's history is full. Open another session")
	}
	if err == nil && line.Type == protocol.LineInput {
		err = one.record.ready()
	}
	if err == nil {
		one.senders.Store(line, w)
		err = one.agent.Handle(line)
		one.senders.Delete(line)
	}
	if err != nil {
		refusal := agent.Refusal(one.id, err, line)
		refusal.Timestamp = one.agent.Now()
		w.Send(refusal)
	}
}

// ending is a reason why sessions end.
type ending struct {
	code   websocket.StatusCode
	text   string // for clients
	reason string // for the history
}

var (
	endFailed  = ending{websocket.StatusInternalError, "the session could not be opened", history.EndDeleted}
	endDeleted = ending{websocket.StatusNormalClosure, "the session has been deleted", history.EndDeleted}
	endIdle    = ending{websocket.StatusNormalClosure, "the session has ended: no client watched it", history.EndIdle}
	endStopped = ending{websocket.StatusGoingAway, "the server stops", history.EndStopped}
)

// end closes everything of a session, removes files that are not kept, and returns when that is done.
// It may be called again.
func (one *session) end(why ending) {
	one.ended.Do(func() {
		if one.agent != nil {
			one.agent.Close()
		}
		one.hub.End(why.code, why.text)
		one.record.end(why.reason)
		if one.close != nil {
			one.close()
		}
		if one.dir != "" {
			one.leave()
		}
	})
}
