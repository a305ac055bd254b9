package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/singleflight"

	"bellhop/agent"
	"bellhop/agent/api/history"
	"bellhop/crypto/token"
	"bellhop/internal/httpapi"
	"bellhop/internal/wait"
	"bellhop/internal/wsline"
	"bellhop/protocol"
)

// Opening describes a session about to be opened.
type Opening struct {
	ID           string
	Dir          string // its working directory, which exists
	Instructions string
	Model        string // "" is the server's default
}

// Opened is what Config.Open provides for a session.
type Opened struct {
	Options agent.Options // Dir and SessionID are set by the server
	Close   func()        // called once, after the session ended; may be nil
}

// Config configures a server. Open is required.
type Config struct {
	Open        func(context.Context, Opening) (Opened, error)
	Token       string         // "" makes one, see Server.Token, and lets everyone open sessions: for loopback only
	Workspaces  string         // parent of the sessions' directories; "" creates temporary ones
	Retention   time.Duration  // how long a directory in Workspaces stays after its session; 0 keeps it
	IdleTimeout time.Duration  // ten minutes if zero
	MaxSessions int            // 256 if zero
	Version     string         // of the program, for the hello line
	History     *history.Store // keeps histories beyond their sessions; nil ends them together
	Limits      wsline.Limits
	Times       wsline.Times
	Now         func() time.Time
	Held        func() time.Time // by which directories in Workspaces are removed; nil = Now
	Log         *slog.Logger
}

// Server holds sessions. Run must run: it ends idle sessions, and all sessions at the end.
type Server struct {
	config Config
	isOpen bool // no token was configured: everyone may open sessions

	mu       sync.Mutex
	sessions map[string]*session
	opening  int                // sessions being opened
	stopped  bool               // no further sessions
	naming   singleflight.Group // opens the sessions that clients name
	clients  sync.WaitGroup
	changed  chan struct{} // wakes Run: a session may become idle sooner
}

// New returns a server without sessions.
func New(config Config) *Server {
	config.IdleTimeout = cmp.Or(config.IdleTimeout, 10*time.Minute)
	config.MaxSessions = cmp.Or(config.MaxSessions, 256)
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Held == nil {
		config.Held = config.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: config, sessions: map[string]*session{}, changed: make(chan struct{}, 1)}
	if s.isOpen = config.Token == ""; s.isOpen {
		s.config.Token, _ = token.NewOpaque("bha_")
	}
	return s
}

// Token returns the token that lists and deletes sessions.
func (s *Server) Token() string { return s.config.Token }

// Handler returns the routes of the API.
func (s *Server) Handler() http.Handler {
	e := httpapi.New(httpapi.Options{Log: s.config.Log})
	e.Use(httpapi.NoStore(), httpapi.GuardHost(), httpapi.GuardOrigin())
	e.GET("/healthz", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.POST("/sessions", httpapi.Handle(http.StatusCreated, s.create, httpapi.OptionalBody()), s.requireCreator)
	e.GET("/sessions", httpapi.Handle(http.StatusOK, s.list), s.requireOwner)
	e.GET("/sessions/:id/history", httpapi.Handle(http.StatusOK, s.history), s.requireMember)
	mayDelete := s.requireMember
	if s.isOpen { // who may open a session may be anyone, so only the server's token ends one
		mayDelete = s.requireOwner
	}
	e.DELETE("/sessions/:id", httpapi.Handle(http.StatusNoContent, s.remove), mayDelete)
	e.GET("/ws/:id", s.serveWebSocket)
	return e
}

// Run ends sessions without clients after the idle time-out. When ctx ends, it ends all
// sessions and returns once they are closed.
func (s *Server) Run(ctx context.Context) error {
	var pruning sync.WaitGroup
	if s.config.Workspaces != "" && s.config.Retention > 0 {
		pruning.Go(func() { wait.Every(ctx, pruneEvery, func(context.Context) { s.pruneWorkspaces() }) })
	}
	defer pruning.Wait()
	timer := time.NewTimer(s.config.IdleTimeout)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			s.stop()
			return nil
		case <-s.changed:
		case <-timer.C:
		}
		timer.Reset(s.endIdle())
	}
}

// endIdle ends idle sessions and returns the time until the next check.
func (s *Server) endIdle() time.Duration {
	now, next := s.config.Now(), s.config.IdleTimeout
	s.mu.Lock()
	var idle []*session
	for id, one := range s.sessions {
		left := one.hub.Status().Left
		if left.IsZero() {
			continue
		}
		if rest := s.config.IdleTimeout - now.Sub(left); rest > 0 {
			next = min(next, rest)
			continue
		}
		delete(s.sessions, id)
		idle = append(idle, one)
	}
	s.mu.Unlock()
	for _, one := range idle {
		s.config.Log.Info("session ended: no client was connected", "session", one.id, "for", s.config.IdleTimeout)
		one.end(endIdle)
	}
	return next
}

func (s *Server) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Notice sends a status line to every client of every session.
func (s *Server) Notice(level, message string) {
	for _, one := range s.all() {
		one.hub.Notice(protocol.Line{
			Type: protocol.LineStatus, Timestamp: one.agent.Now(), Level: level, Message: message,
		})
	}
}

func (s *Server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*session, 0, len(s.sessions))
	for _, one := range s.sessions {
		list = append(list, one)
	}
	return list
}

func (s *Server) stop() {
	s.Notice("warning", "The server stops")
	s.mu.Lock()
	s.stopped = true
	list := s.sessions
	s.sessions = map[string]*session{}
	s.mu.Unlock()
	var group sync.WaitGroup
	for _, one := range list {
		group.Go(func() { one.end(endStopped) })
	}
	group.Wait()
	s.clients.Wait()
}

// find returns a session by its id; an unknown id is CodeNotFound.
func (s *Server) find(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.sessions[id]
	if !ok {
		return nil, protocol.Errorf(protocol.CodeNotFound, "No such session")
	}
	return one, nil
}
