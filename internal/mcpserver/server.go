package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

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

// Handle serves a POST. It checks the message itself, because the SDK's decoder is more lenient and its refusals are
// plain text: what is no message is 400 with a JSON-RPC error, a request gets 200, a notification 202. Tools get the
// request's context.
func (s *Server) Handle(c echo.Context) error {
	raw, err := httpapi.ReadBody(c, s.maxBody)
	if err != nil {
		return err
	}
	m, refused := parse(raw)
	if refused == nil {
		refused = checkVersion(c.Request().Header.Get("Mcp-Protocol-Version"))
	}
	if refused != nil {
		return respond(c, http.StatusBadRequest, m.id, refused)
	}
	if m.id == nil || m.isResponse() {
		return c.NoContent(http.StatusAccepted) // without MCP sessions no notification has an effect
	}
	if refused := m.prepare(); refused != nil {
		return respond(c, http.StatusOK, m.id, refused)
	}
	return s.forward(c, &m)
}

// checkVersion checks the version of MCP in a request's header; "" is any.
func checkVersion(version string) *refusal {
	supported := sdk.SupportedProtocolVersions()
	if version == "" || slices.Contains(supported, version) {
		return nil
	}
	return &refusal{
		sdk.CodeUnsupportedProtocolVersion, "The version of MCP is not supported",
		sdk.UnsupportedProtocolVersionData{Supported: supported, Requested: version},
	}
}

func respond(c echo.Context, status int, id json.RawMessage, r *refusal) error {
	body, err := r.response(id)
	if err != nil {
		return err
	}
	return c.JSONBlob(status, body)
}

// forward lets the SDK answer a request, and sends the answer with the request's own id.
func (s *Server) forward(c echo.Context, m *message) error {
	r := c.Request()
	raw := m.forSDK()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	got := &httpapi.Recorder{Fields: http.Header{}, Status: http.StatusOK}
	s.handler.ServeHTTP(got, r)
	var response rpcResponse
	if err := json.Unmarshal(got.Body.Bytes(), &response); err != nil || response.Result == nil && response.Error == nil {
		if got.Status < http.StatusBadRequest || got.Status >= http.StatusInternalServerError {
			return fmt.Errorf("the SDK answered %s with %d: %.200q", m.method, got.Status, got.Body.String())
		}
		message := strings.TrimSpace(got.Body.String())
		return respond(c, got.Status, m.id, refuse(codeInvalidRequest, protocol.Errorf(protocol.CodeInvalid, "%s", message)))
	}
	response.ID = m.id
	if response.Error != nil {
		response.Error = readable(m.method, response.Error)
	}
	body, err := protocol.Marshal(response)
	if err != nil {
		return err
	}
	for name, values := range got.Fields {
		c.Response().Header()[name] = values
	}
	c.Response().Header().Del(echo.HeaderContentLength)
	return c.JSONBlob(got.Status, body)
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
