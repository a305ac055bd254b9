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

// maxBody caps a request: 512 KiB of code, and room for its escaping.
const maxBody = 4 << 20

const instructions = `Bellhop keeps code you wrote, with the reason you wrote it, in the user's notebook, and brings the user's later questions back to you.

1. Call create_agent_notebook once per conversation; calling it again is safe and finds the same notebook.
2. When you have written code the user will want to keep, call save_code_with_context. The code is checked by a real parser, never run.
3. Call get_followup_messages when you start, and whenever the user says they left a question in the notebook. Answer each one with respond_to_followup; if the code has to change, send the whole new code as codeUpdate.`

// Server serves /mcp. All fields are required.
type Server struct {
	Notebooks *notebook.Service
	Agent     echo.MiddlewareFunc // lets users and their agents pass
	Caller    func(ctx context.Context) notebook.Caller
	Version   string
	Log       *slog.Logger
}

// Routes registers /mcp on e. It answers POST alone: without sessions there is
// no stream to open and nothing to delete. GET asks for the token all the same:
// clients whose POST is refused try it, and show their user what it said.
func (s *Server) Routes(e *echo.Echo) {
	handler := sdk.NewStreamableHTTPHandler(s.static(), &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, Logger: slog.New(faults{s.Log.Handler()}), MaxRequestBodyBytes: maxBody,
		// internal/httpapi guards Host, and knows the public URL's name.
		DisableLocalhostProtection: true,
	})
	e.POST("/mcp", s.serve(handler), httpapi.NoStore(), bearerOnly, s.Agent)
	e.GET("/mcp", noStream, httpapi.NoStore(), bearerOnly, s.Agent)
}

// static has one server for all: callers differ by their context alone.
func (s *Server) static() func(*http.Request) *sdk.Server {
	server := sdk.NewServer(
		&sdk.Implementation{Name: "bellhop", Title: "Bellhop notebooks", Version: s.Version},
		&sdk.ServerOptions{
			Instructions: instructions, Logger: slog.New(faults{s.Log.Handler()}),
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // the list never changes
		},
	)
	s.addTools(server)
	return func(*http.Request) *sdk.Server { return server }
}

// bearerOnly keeps cookies out: no page has any business here.
func bearerOnly(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Header.Get("Authorization") == "" {
			return &protocol.Error{
				Code: protocol.CodeUnauthorized, Message: "Unauthorized",
				Hint: "Send Authorization: Bearer and an API token of kind agent",
			}
		}
		return next(c)
	}
}

func noStream(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderAllow, "OPTIONS, POST")
	return echo.ErrMethodNotAllowed
}

// serve holds a message to what every body is held to before the SDK, whose
// decoder is more lenient, sees it.
func (s *Server) serve(handler http.Handler) echo.HandlerFunc {
	return func(c echo.Context) error {
		raw, err := httpapi.ReadBody(c, maxBody)
		if err != nil {
			return err
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

// callerOf is who sent the request; the zero Caller owns nothing.
func callerOf(ctx context.Context) notebook.Caller {
	c, _ := ctx.Value(callerKey{}).(notebook.Caller)
	return c
}

// faults keeps the SDK's news of every connection out of the log.
type faults struct{ slog.Handler }

func (f faults) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && f.Handler.Enabled(ctx, level)
}

func (f faults) WithAttrs(attrs []slog.Attr) slog.Handler { return faults{f.Handler.WithAttrs(attrs)} }

func (f faults) WithGroup(name string) slog.Handler { return faults{f.Handler.WithGroup(name)} }
