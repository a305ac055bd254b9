package mcp

import (
	"context"
	"log/slog"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/internal/mcpserver"
	"bellhop/notebook"
	"bellhop/protocol"
)

// maxBody caps a request: 512 KiB of code plus the overhead of JSON escaping.
const maxBody = 4 << 20

const instructions = `Bellhop keeps code you wrote, with the reason you wrote it, in the user's notebook, and brings the user's later questions back to you.

1. Call create_agent_notebook once per conversation; calling it again is safe and finds the same notebook.
2. When you have written code the user will want to keep, call save_code_with_context. The code is checked by a real parser, never run.
3. Call get_followup_messages when you start, and whenever the user says they left a question in the notebook. Answer each one with respond_to_followup; if the code has to change, send the whole new code as codeUpdate.`

// Server serves /mcp. All fields are required.
type Server struct {
	Notebooks *notebook.Service
	Agent     echo.MiddlewareFunc // admits users and their agents
	Caller    func(ctx context.Context) notebook.Caller
	Version   string
	PublicURL string // where clients see the broker
	Log       *slog.Logger
}

// Routes registers /mcp on e. Only POST works: without sessions there is no stream to open and
// nothing to delete. GET checks the token first, because clients whose POST was rejected try
// GET and show its error to their user.
func (s *Server) Routes(e *echo.Echo) {
	server := mcpserver.New(mcpserver.Options{
		Title: "Bellhop notebooks", Version: s.Version, Instructions: instructions, MaxBody: maxBody, Log: s.Log,
	})
	s.addTools(server)
	format := httpapi.FormatErrors(s.formatError)
	e.POST("/mcp", httpapi.Describe(s.serve(server), describedMCP), format, httpapi.NoStore(), bearerOnly, s.Agent)
	e.GET("/mcp", httpapi.Describe(mcpserver.NoStream, describedNoStream), format, httpapi.NoStore(), bearerOnly, s.Agent)
	e.GET(metadataPath, httpapi.Describe(s.metadata, describedMetadata))
	e.GET(metadataPath+"/mcp", httpapi.Describe(s.metadata, describedMetadata))
	e.POST("/register", httpapi.Describe(refuseRegistration, describedRefusal), httpapi.NoStore())
}

// bearerOnly rejects requests that have only a cookie: no web page may call /mcp.
func bearerOnly(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Header.Get("Authorization") == "" {
			return &protocol.Error{
				Code: protocol.CodeUnauthorized, Message: "Unauthorized",
				Hint: notebook.TokenHint,
			}
		}
		return next(c)
	}
}

// serve adds the caller to the context that the tools get.
func (s *Server) serve(server *mcpserver.Server) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		c.SetRequest(c.Request().WithContext(withCaller(ctx, s.Caller(ctx))))
		return server.Handle(c)
	}
}

type callerKey struct{}

func withCaller(ctx context.Context, c notebook.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// callerOf returns the sender of the request; the zero Caller owns nothing.
func callerOf(ctx context.Context) notebook.Caller {
	c, _ := ctx.Value(callerKey{}).(notebook.Caller)
	return c
}
