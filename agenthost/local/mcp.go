package local

import (
	"bytes"
	"context"
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

// maxCallBody limits a request to /mcp.
const maxCallBody = 256 << 10

const instructions = `These tools are about the workspace you work in: its state, notes that outlive you, further workspaces of the same project, and commands that the operator allows. Files are not their business.`

// serveMCP serves MCP without sessions, because the secret of each request names its
// workspace. It checks the body with the same strict parser as other routes, because
// the SDK's decoder is more lenient.
func (s *Server) serveMCP() echo.HandlerFunc {
	handler := s.mcpHandler()
	return func(c echo.Context) error {
		raw, err := httpapi.ReadBody(c, maxCallBody)
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

func (s *Server) mcpHandler() http.Handler {
	log := slog.New(warningsOnly{s.Log.Handler()})
	server := sdk.NewServer(
		&sdk.Implementation{Name: "bellhop", Title: "Bellhop workspace", Version: s.Version},
		&sdk.ServerOptions{
			Instructions: instructions, Logger: log,
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // the list never changes
		},
	)
	s.addTools(server)
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, Logger: log, MaxRequestBodyBytes: maxCallBody,
		DisableLocalhostProtection: true, // internal/httpapi checks the Host header
	})
}

func noStream(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderAllow, "OPTIONS, POST")
	return echo.ErrMethodNotAllowed
}

// addTool registers do as a tool.
func addTool[In, Out any](s *Server, server *sdk.Server, tool *sdk.Tool, do func(ctx context.Context, in *In) (*Out, error)) {
	sdk.AddTool(server, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, *Out, error) {
		out, err := do(ctx, &in)
		if err != nil {
			return nil, nil, s.toolError(ctx, tool.Name, err)
		}
		text, err := toolText(out)
		if err != nil {
			return nil, nil, s.toolError(ctx, tool.Name, err)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, out, nil
	})
}

// toolText encodes a result as JSON text without escaping <, > and &. The SDK would
// escape them, and clients pass the text to their models.
func toolText(out any) (string, error) {
	raw, err := protocol.Marshal(out)
	return string(raw), err
}

// toolError formats an error for a model: message, hint and code. It logs the cause of
// internal errors.
func (s *Server) toolError(ctx context.Context, tool string, err error) error {
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

// warningsOnly drops the SDK's debug and info messages about every connection.
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
