package api

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coder/websocket"

	"bellhop/agent"
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
	dir       string
	temporary bool // dir is deleted with the session
	hub       *wsline.Hub
	agent     *agent.Session
	close     func()
	ended     sync.Once
}

// open creates a session; plain is its token.
func (s *Server) open(ctx context.Context, model, instructions string) (one *session, plain string, err error) {
	if err := s.reserve(); err != nil {
		return nil, "", err
	}
	one = &session{id: protocol.NewID(), created: s.config.Now(), hub: wsline.NewHub(s.config.Limits, s.config.Now)}
	plain, one.tokenHash = token.NewOpaque("bhs_")
	if err = one.makeDir(s.config.Workspaces); err == nil {
		err = s.begin(ctx, one, model, instructions)
	}
	if err != nil {
		one.end(websocket.StatusInternalError, "the session could not be opened")
		_ = s.release(nil)
		return nil, "", err
	}
	if err := s.release(one); err != nil {
		one.end(websocket.StatusGoingAway, "the server stops")
		return nil, "", err
	}
	return one, plain, nil
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
			Code: protocol.CodeTooManyRequests, Message: fmt.Sprintf("There are %d sessions, which is the limit", s.config.MaxSessions),
			Hint: "Delete sessions that are not needed", RetryAfter: 10,
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
func (one *session) makeDir(parent string) (err error) {
	if parent == "" {
		one.temporary = true
		one.dir, err = os.MkdirTemp("", "bellhop-agent-")
	} else {
		one.dir = filepath.Join(parent, one.id)
		err = os.Mkdir(one.dir, 0o700)
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
	opts.Dir, opts.SessionID, opts.Task = one.dir, one.id, ""
	if opts.Log == nil {
		opts.Log = s.config.Log.With("session", one.id)
	}
	one.model = opts.Model
	one.agent, err = agent.Open(opts, agent.Front{
		Write:          one.hub.Publish,
		Accepted:       func(line *protocol.Line) { one.hub.Accepted(*line) },
		QuestionClosed: one.hub.QuestionClosed,
	})
	if one.model == "" {
		one.model = agent.ModelDemo
	}
	return err
}

// handle processes a client's line. Only that client gets the error.
func (one *session) handle(w *wsline.Watcher, raw []byte) {
	line, err := protocol.ParseLine(raw)
	if err == nil && line.Type == protocol.LineInput && one.hub.Status().Full {
		err = protocol.Errorf(protocol.CodeStorageFull, "The session's history is full. Open another session")
	}
	if err == nil {
		err = one.agent.Handle(line)
	}
	if err != nil {
		w.Send(agent.Refusal(one.id, err))
	}
}

// end closes everything of a session, including temporary files, and returns when that is done.
// It may be called again.
func (one *session) end(code websocket.StatusCode, reason string) {
	one.ended.Do(func() {
		if one.agent != nil {
			one.agent.Close()
		}
		one.hub.End(code, reason)
		if one.close != nil {
			one.close()
		}
		if one.temporary && one.dir != "" {
			_ = os.RemoveAll(one.dir)
		}
	})
}
