package mcpserver

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// Options describe a server to its clients. All fields but Describe are required.
type Options struct {
	Title        string
	Version      string
	Instructions string // for models
	MaxBody      int64  // bytes of a request
	Log          *slog.Logger

	// Describe returns what the description of a tool ends with for the caller of a request;
	// nil adds nothing.
	Describe func(ctx context.Context, tool string) string
}

// Server is a set of tools.
type Server struct {
	sdk     *sdk.Server
	handler http.Handler
	maxBody int64
	log     *slog.Logger
}

// New returns a Server without tools.
func New(o Options) *Server {
	log := slog.New(warningsOnly{o.Log.Handler()})
	server := sdk.NewServer(
		&sdk.Implementation{Name: "bellhop", Title: o.Title, Version: o.Version},
		&sdk.ServerOptions{
			Instructions: o.Instructions, Logger: log,
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // the list never changes
		},
	)
	if o.Describe != nil {
		server.AddReceivingMiddleware(describing(o.Describe))
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, Logger: log, MaxRequestBodyBytes: o.MaxBody,
		DisableLocalhostProtection: true, // internal/httpapi checks the Host header and knows the public URL's name
	})
	return &Server{sdk: server, handler: handler, maxBody: o.MaxBody, log: o.Log}
}

// describing completes the descriptions of tools for each caller.
func describing(describe func(ctx context.Context, tool string) string) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			result, err := next(ctx, method, req)
			list, ok := result.(*sdk.ListToolsResult)
			if err != nil || !ok {
				return result, err
			}
			own := *list
			own.Tools = slices.Clone(list.Tools)
			for i, tool := range own.Tools {
				if more := describe(ctx, tool.Name); more != "" {
					described := *tool
					described.Description += " " + more
					own.Tools[i] = &described
				}
			}
			return &own, nil
		}
	}
}

// Handle serves a POST. It checks the body with the same strict parser as other
// routes, because the SDK's decoder is more lenient. Tools get the request's context.
func (s *Server) Handle(c echo.Context) error {
	raw, err := httpapi.ReadBody(c, s.maxBody)
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
	r := c.Request()
	r.Body = io.NopCloser(bytes.NewReader(raw))
	s.handler.ServeHTTP(c.Response(), r)
	return nil
}

// NoStream answers a GET: without MCP sessions there is no stream to open.
func NoStream(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderAllow, "OPTIONS, POST")
	return echo.ErrMethodNotAllowed
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
