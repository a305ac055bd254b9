package mcpserver

import (
	"context"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/protocol"
)

// Add registers do as a tool. The input's schema comes from the type In.
func Add[In, Out any](s *Server, tool *sdk.Tool, do func(ctx context.Context, in *In) (*Out, error)) {
	sdk.AddTool(s.sdk, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, *Out, error) {
		out, err := do(ctx, &in)
		if err != nil {
			return nil, nil, s.forModel(ctx, tool.Name, err)
		}
		// The SDK would escape <, > and &, and clients pass the text to their models unchanged.
		text, err := protocol.Marshal(out)
		if err != nil {
			return nil, nil, s.forModel(ctx, tool.Name, err)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, out, nil
	})
}

// forModel turns an error into a sentence for the model: the message, the hint and the
// code. It logs the cause of internal errors.
func (s *Server) forModel(ctx context.Context, tool string, err error) error {
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code == protocol.CodeInternal {
		s.log.ErrorContext(ctx, "tool failed", "tool", tool, "err", err)
		return errors.New("Internal error. Try again later. (internal)") //nolint:staticcheck // a sentence for a model
	}
	text := strings.TrimSuffix(e.Message, ".") + "."
	if e.Hint != "" {
		text += " " + strings.TrimSuffix(e.Hint, ".") + "."
	}
	return errors.New(text + " (" + string(e.Code) + ")")
}
