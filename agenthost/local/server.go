package local

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/labstack/echo/v4"

	"bellhop/agenthost"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// pathHeader selects a workspace.
const pathHeader = "X-Workspace-Path"

// creatorKey is the metadata that says which session made a workspace; agents
// cannot set keys that begin with reserved.
const (
	reserved   = "bellhop."
	creatorKey = reserved + "session"
)

// Server serves the listener. Host, Workspaces and Log are required.
type Server struct {
	Host       *agenthost.Host
	Workspaces agenthost.WorkspaceManager
	Records    string // directory for process.Sweep; "" keeps no record
	Version    string
	Log        *slog.Logger

	running chan struct{}   // one for each command that runs
	ended   context.Context //nolint:containedctx // the server's life, which no request's context tells of
	end     context.CancelFunc
}

// End ends the commands that run. It is for http.Server.RegisterOnShutdown, after
// Routes.
func (s *Server) End() { s.end() }

// Routes registers every route on e, which httpapi.New made.
func (s *Server) Routes(e *echo.Echo) {
	s.running = make(chan struct{}, maxCommands)
	s.ended, s.end = context.WithCancel(context.Background())
	e.Use(httpapi.NoStore(), httpapi.GuardHost(), httpapi.GuardOrigin())
	e.POST("/hook", httpapi.Handle(http.StatusOK, s.hook, httpapi.MaxBody(maxHook)), s.requireSecret)
	e.POST("/mcp", s.serveMCP(), s.requireSecret)
	e.GET("/mcp", noStream, s.requireSecret)
}

// requireSecret puts who asks, and for which workspace, into the context. That
// alone shows that the workspace is in use.
func (s *Server) requireSecret(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		secret, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		g, err := s.Host.LocalGrant(secret)
		if err != nil {
			c.Response().Header().Set("WWW-Authenticate", "Bearer")
			return err
		}
		if g.Path, err = s.selected(r.Context(), g, r.Header.Get(pathHeader)); err != nil {
			return err
		}
		s.Host.MarkActive(g)
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), callerKey{}, caller{g, r.Context()})))
		return next(c)
	}
}

// caller is who sent the request, and its context: the SDK hands its tools another,
// which goes on when the caller has left.
type caller struct {
	grant   agenthost.LocalGrant
	request context.Context //nolint:containedctx // see above
}

type callerKey struct{}

func grantOf(ctx context.Context) agenthost.LocalGrant {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c.grant
}

// whileThere ends when ctx does, the caller leaves, or the server ends.
func (s *Server) whileThere(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	ended := context.AfterFunc(s.ended, cancel)
	left := func() bool { return false }
	if c, known := ctx.Value(callerKey{}).(caller); known {
		left = context.AfterFunc(c.request, cancel)
	}
	return ctx, func() {
		ended()
		left()
		cancel()
	}
}

// selected is the workspace that a request is about: the named one, if the
// session may see it, or else the session's own.
func (s *Server) selected(ctx context.Context, g agenthost.LocalGrant, path string) (string, error) {
	if path == "" {
		return g.Path, nil
	}
	if path = filepath.Clean(path); path == g.Path {
		return path, nil
	}
	if filepath.IsAbs(path) {
		if about, err := s.Workspaces.Metadata(ctx, path); err == nil && about[creatorKey] == g.SessionID {
			return path, nil
		}
	}
	return "", &protocol.Error{
		Code: protocol.CodeForbidden, Message: "This secret does not open that workspace",
		Hint: "Name the session's own workspace, or one that its agent has made",
	}
}
