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
	"bellhop/internal/mcpserver"
	"bellhop/protocol"
)

// pathHeader selects one of the workspaces that the secret allows.
const pathHeader = "X-Workspace-Path"

// creatorKey is the metadata key with the session that created a workspace. Agents
// cannot set keys that begin with reservedPrefix.
const (
	reservedPrefix = "bellhop."
	creatorKey     = reservedPrefix + "session"
)

// CreatedBy returns the session that created a workspace, from the workspace's metadata.
func CreatedBy(metadata map[string]string) string { return metadata[creatorKey] }

// Server serves the listener. Host, Workspaces and Log are required.
type Server struct {
	Host       *agenthost.Host
	Workspaces agenthost.WorkspaceManager
	Records    string // directory for process.Sweep; "" = no records
	Version    string
	Log        *slog.Logger

	commandSlots chan struct{}   // one element for each command that runs
	lifetime     context.Context //nolint:containedctx // ends with the server, unlike the contexts of requests
	endLifetime  context.CancelFunc
}

// End stops the running commands. Register it with http.Server.RegisterOnShutdown
// after Routes.
func (s *Server) End() { s.endLifetime() }

// Routes registers every route on e, which httpapi.New returned.
func (s *Server) Routes(e *echo.Echo) {
	s.commandSlots = make(chan struct{}, maxCommands)
	s.lifetime, s.endLifetime = context.WithCancel(context.Background())
	e.Use(httpapi.NoStore(), httpapi.GuardHost(), httpapi.GuardOrigin())
	e.POST("/hook", httpapi.Handle(http.StatusOK, s.hook, httpapi.MaxBody(maxHookBody)), s.requireSecret)
	format := httpapi.FormatErrors(mcpserver.FormatError)
	e.POST("/mcp", s.newMCP().Handle, format, s.requireSecret)
	e.GET("/mcp", mcpserver.NoStream, format, s.requireSecret)
}

// requireSecret checks the secret, stores the caller and its workspace in the context,
// and marks the workspace as active.
func (s *Server) requireSecret(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		secret, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		g, err := s.Host.LocalGrant(secret)
		if err != nil {
			c.Response().Header().Set("WWW-Authenticate", "Bearer")
			return err
		}
		if g.Path, err = s.selectPath(r.Context(), g, r.Header.Get(pathHeader)); err != nil {
			return err
		}
		s.Host.MarkActive(g)
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), callerKey{}, requestCaller{g, r.Context()})))
		return next(c)
	}
}

// requestCaller holds the grant and the context of a request. The SDK calls tools with
// another context, which does not end when the caller disconnects.
type requestCaller struct {
	grant   agenthost.LocalGrant
	request context.Context //nolint:containedctx // see above
}

type callerKey struct{}

func grantOf(ctx context.Context) agenthost.LocalGrant {
	c, _ := ctx.Value(callerKey{}).(requestCaller)
	return c.grant
}

// untilCallerLeaves returns a context that ends with ctx, with the caller's request or
// with the server.
func (s *Server) untilCallerLeaves(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stopLifetime := context.AfterFunc(s.lifetime, cancel)
	stopCaller := func() bool { return false }
	if c, known := ctx.Value(callerKey{}).(requestCaller); known {
		stopCaller = context.AfterFunc(c.request, cancel)
	}
	return ctx, func() {
		stopLifetime()
		stopCaller()
		cancel()
	}
}

// selectPath returns path if the session may use that workspace, and the session's own
// workspace if path is empty. CodeForbidden: another workspace.
func (s *Server) selectPath(ctx context.Context, g agenthost.LocalGrant, path string) (string, error) {
	if path == "" {
		return g.Path, nil
	}
	if path = filepath.Clean(path); path == g.Path {
		return path, nil
	}
	if filepath.IsAbs(path) {
		if metadata, err := s.Workspaces.Metadata(ctx, path); err == nil && metadata[creatorKey] == g.SessionID {
			return path, nil
		}
	}
	return "", &protocol.Error{
		Code: protocol.CodeForbidden, Message: "This secret does not open that workspace",
		Hint: "Name the session's own workspace, or one that its agent has made",
	}
}
