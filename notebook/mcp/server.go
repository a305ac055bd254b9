package mcp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/internal/httpapi"
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
	handler := sdk.NewStreamableHTTPHandler(s.static(), &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, Logger: slog.New(warningsOnly{s.Log.Handler()}), MaxRequestBodyBytes: maxBody,
		// internal/httpapi checks Host and knows the public URL's name.
		DisableLocalhostProtection: true,
	})
	format := httpapi.FormatErrors(s.formatError)
	e.POST("/mcp", s.serve(handler), format, httpapi.NoStore(), bearerOnly, s.Agent)
	e.GET("/mcp", noStream, format, httpapi.NoStore(), bearerOnly, s.Agent)
	e.GET(metadataPath, s.metadata)
	e.GET(metadataPath+"/mcp", s.metadata)
	e.POST("/register", refuseRegistration, httpapi.NoStore())
}

// static returns one server for all requests: callers differ only by their context.
func (s *Server) static() func(*http.Request) *sdk.Server {
	server := sdk.NewServer(
		&sdk.Implementation{Name: "bellhop", Title: "Bellhop notebooks", Version: s.Version},
		&sdk.ServerOptions{
			Instructions: instructions, Logger: slog.New(warningsOnly{s.Log.Handler()}),
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // the list never changes
		},
	)
	s.addTools(server)
	return func(*http.Request) *sdk.Server { return server }
}

// bearerOnly rejects requests that have only a cookie: no web page may call /mcp.
func bearerOnly(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Header.Get("Authorization") == "" {
			return &protocol.Error{
				Code: protocol.CodeUnauthorized, Message: "Unauthorized",
				Hint: tokenHint,
			}
		}
		return next(c)
	}
}

func noStream(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderAllow, "OPTIONS, POST")
	return echo.ErrMethodNotAllowed
}

// serve checks a message like every other body before the SDK decodes it, whose decoder is more
// lenient.
func (s *Server) serve(handler http.Handler) echo.HandlerFunc {
	return func(c echo.Context) error {
		raw, err := httpapi.ReadBody(c, maxBody)
		if err != nil {
			return err
		}
		if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
			return &protocol.Error{
				Code: protocol.CodeInvalid, Message: "JSON-RPC batches are not supported", Hint: "Send one message in each request",
			}
		}
		if err := protocol.ParseObject(raw); err != nil {
			return err
		}
		r := c.Request().WithContext(withCaller(c.Request().Context(), s.Caller(c.Request().Context())))
		r.Body = io.NopCloser(bytes.NewReader(raw))
		handler.ServeHTTP(c.Response(), r)
		return nil
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

// warningsOnly drops the SDK's info messages about every connection.
type warningsOnly struct{ slog.Handler }

func (f warningsOnly) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && f.Handler.Enabled(ctx, level)
}

func (f warningsOnly) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warningsOnly{f.Handler.WithAttrs(attrs)}
}

func (f warningsOnly) WithGroup(name string) slog.Handler {
	return warningsOnly{f.Handler.WithGroup(name)}
}
