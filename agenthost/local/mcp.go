package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// maxCall caps a request to /mcp.
const maxCall = 256 << 10

const instructions = `These tools are about the workspace you work in: its state, notes that outlive you, further workspaces of the same project, and commands that the operator allows. Files are not their business.`

// serveMCP keeps no sessions: every request says by its secret what it is about.
// A message is held to what every body is held to before the SDK, whose decoder
// is more lenient, sees it.
func (s *Server) serveMCP() echo.HandlerFunc {
	log := slog.New(faults{s.Log.Handler()})
	server := sdk.NewServer(
		&sdk.Implementation{Name: "bellhop", Title: "Bellhop workspace", Version: s.Version},
		&sdk.ServerOptions{
			Instructions: instructions, Logger: log,
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // the list never changes
		},
	)
	s.addTools(server)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, Logger: log, MaxRequestBodyBytes: maxCall,
		DisableLocalhostProtection: true, // internal/httpapi guards Host
	})
	return func(c echo.Context) error {
		raw, err := httpapi.ReadBody(c, maxCall)
		if err != nil {
			return err
		}
		if err := protocol.ParseObject(raw); err != nil {
			return err
		}
		r := c.Request()
		r.Body = io.NopCloser(bytes.NewReader(raw))
		handler.ServeHTTP(c.Response(), r)
		return nil
	}
}

func noStream(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderAllow, "OPTIONS, POST")
	return echo.ErrMethodNotAllowed
}

// add makes a function a tool.
func add[In, Out any](s *Server, server *sdk.Server, tool *sdk.Tool, do func(ctx context.Context, in *In) (*Out, error)) {
	sdk.AddTool(server, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, *Out, error) {
		out, err := do(ctx, &in)
		if err != nil {
			return nil, nil, s.forModel(ctx, tool.Name, err)
		}
		text, err := forReading(out)
		if err != nil {
			return nil, nil, s.forModel(ctx, tool.Name, err)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, out, nil
	})
}

// forReading is the answer as text, without the escapes of <, > and & that the SDK
// would make and clients hand on to their models.
func forReading(out any) (string, error) {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(out)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// forModel writes an error for a model: what is wrong, how to mend it, the code.
// Causes go to the log.
func (s *Server) forModel(ctx context.Context, tool string, err error) error {
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code == protocol.CodeInternal {
		s.Log.ErrorContext(ctx, "tool failed", "tool", tool, "err", err)
		return errors.New("Internal error. Try again later. (internal)") //nolint:staticcheck // a sentence for a model
	}
	text := strings.TrimSuffix(e.Message, ".") + "."
	if e.Hint != "" {
		text += " " + strings.TrimSuffix(e.Hint, ".") + "."
	}
	return errors.New(text + " (" + string(e.Code) + ")")
}

// faults keeps the SDK's news of every connection out of the log.
type faults struct{ slog.Handler }

func (f faults) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && f.Handler.Enabled(ctx, level)
}

func (f faults) WithAttrs(attrs []slog.Attr) slog.Handler { return faults{f.Handler.WithAttrs(attrs)} }

func (f faults) WithGroup(name string) slog.Handler { return faults{f.Handler.WithGroup(name)} }
