package notebook

import (
	"context"
	"log/slog"
	"time"

	"bellhop/internal/database"
	"bellhop/protocol"
)

// Options of New. Store and Verifier are required.
type Options struct {
	Store    Store
	Verifier Verifier
	Outbox   Outbox           // nil = no webhooks: agents poll
	Notifier Notifier         // nil = no notifications
	Icons    Icons            // nil = no images
	Lifetime time.Duration    // how long a session lives without activity; 0 = Lifetime
	Now      func() time.Time // nil = time.Now
	Log      *slog.Logger     // nil = none
}

// Service has the use cases; the REST routes and the MCP tools call the same ones.
type Service struct {
	o    Options
	wake chan struct{} // signals that versions may need verification
}

// New returns the use cases.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Lifetime <= 0 {
		o.Lifetime = Lifetime
	}
	return &Service{o: o, wake: make(chan struct{}, 1)}
}

// nowUTC returns the time with the precision that the databases keep.
func (s *Service) nowUTC() time.Time { return s.o.Now().UTC().Truncate(time.Microsecond) }

func (s *Service) lifetime() time.Duration { return s.o.Lifetime }

// sessionChange changes a locked session at a time.
type sessionChange func(ctx context.Context, session *Session, now time.Time) error

// change runs fn with the session locked, saves the session and notifies the user's feed if fn
// changed its rev.
func (s *Service) change(ctx context.Context, userID, sessionID string, fn sessionChange) error {
	now := s.nowUTC()
	return s.o.Store.Write(ctx, func(ctx context.Context) error {
		session, err := s.o.Store.LockSession(ctx, userID, sessionID)
		if err != nil {
			return err
		}
		before := session.Rev
		if err := fn(ctx, session, now); err != nil {
			return err
		}
		return s.save(ctx, session, before)
	})
}

// save stores a locked session. It notifies the user's feed only if the rev differs from
// before.
func (s *Service) save(ctx context.Context, session *Session, before int64) error {
	if session.Rev != before && s.o.Notifier != nil {
		database.AfterCommit(ctx, func() { s.o.Notifier.AgentChanged(session.UserID) })
	}
	return s.o.Store.SaveSession(ctx, session)
}

// agentChange is change for an action of the session's agent: it checks the caller and counts
// as activity.
func (s *Service) agentChange(ctx context.Context, c Caller, sessionID string, fn sessionChange) error {
	return s.change(ctx, c.UserID, sessionID, func(ctx context.Context, session *Session, now time.Time) error {
		if !c.owns(session) {
			return errNoSession()
		}
		if err := s.usable(session, now); err != nil {
			return err
		}
		session.LastActivity = now
		return fn(ctx, session, now)
	})
}

// session returns the agent session that a caller means: the one named, or else the only one
// the token may use.
func (s *Service) session(ctx context.Context, c Caller, id string) (*Session, error) {
	if id != "" {
		session, err := s.o.Store.Session(ctx, c.UserID, id)
		if err == nil && !c.owns(session) {
			return nil, errNoSession()
		}
		return session, err
	}
	sessions, err := s.o.Store.Sessions(ctx, c.UserID, c.AgentIdentifier)
	switch {
	case err != nil:
		return nil, err
	case len(sessions) == 1:
		return &sessions[0], nil
	case len(sessions) == 0:
		return nil, &protocol.Error{
			Code: protocol.CodeNotFound, Message: "Agent session not found",
			Hint: "Start with POST /api/coding-agent/notebooks (create_agent_notebook)",
		}
	default:
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "agentSessionId is required",
			Hint: "This token speaks for several agents; create_agent_notebook answers with the id of each one's session",
		}
	}
}
