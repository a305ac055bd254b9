package mcpclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/agent"
	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// maxName is the longest tool name that models' APIs accept.
const maxName = 64

// offer returns the servers' tools, each under a unique name.
func offer(servers []*server) []agent.Tool {
	var tools []agent.Tool
	taken := map[string]bool{}
	for _, s := range servers {
		for _, t := range s.tools {
			name := toolName(s.name, t.Name, taken)
			taken[name] = true
			tools = append(tools, s.tool(name, t))
		}
	}
	return tools
}

var unusual = lazyregexp.New(`[^A-Za-z0-9_-]`)

// toolName returns mcp__SERVER__TOOL, with a hash if that is too long or taken.
func toolName(server, tool string, taken map[string]bool) string {
	name := "mcp__" + unusual.ReplaceAllString(server, "_") + "__" + unusual.ReplaceAllString(tool, "_")
	if len(name) <= maxName && !taken[name] {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	hash := hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(hash)-1)] + "_" + hash
}

func (s *server) tool(name string, t *mcp.Tool) agent.Tool {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || t.InputSchema == nil {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	warning := protocol.SecurityWarning{
		Level:   "WARN",
		Message: fmt.Sprintf("A tool of the MCP server %s, which is not confined to the working directory.", s.name),
	}
	if t.Annotations != nil && t.Annotations.ReadOnlyHint {
		warning = protocol.SecurityWarning{
			Level: "INFO", Message: fmt.Sprintf("The MCP server %s says that this only reads.", s.name),
		}
	}
	return agent.Tool{
		Spec:   agent.ToolSpec{Name: name, Description: t.Description, Schema: schema},
		Prompt: fmt.Sprintf("Use %s of the MCP server %s?", t.Name, s.name), Warning: warning,
		Run: func(ctx context.Context, arguments json.RawMessage) (string, error) {
			return s.call(ctx, t.Name, arguments)
		},
	}
}

func (s *server) call(ctx context.Context, tool string, arguments json.RawMessage) (string, error) {
	result, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", &protocol.Error{
			Code: protocol.CodeBadGateway, Message: fmt.Sprintf("The MCP server %s failed: %v", s.name, err), Err: err,
		}
	case result.NeedsInput():
		return "", protocol.Errorf(protocol.CodeInvalid, "The tool wants input that this agent cannot give")
	}
	text := content(result)
	if result.IsError {
		return "", protocol.Errorf(protocol.CodeInvalid, "%s", cmp.Or(text, "The tool failed"))
	}
	return text, nil
}

// content returns a result as text, with placeholders for content that is not text.
func content(result *mcp.CallToolResult) string {
	var parts []string
	for _, c := range result.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ImageContent:
			parts = append(parts, fmt.Sprintf("[image %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.AudioContent:
			parts = append(parts, fmt.Sprintf("[audio %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.ResourceLink:
			parts = append(parts, fmt.Sprintf("[resource %s]", c.URI))
		case *mcp.EmbeddedResource:
			if c.Resource != nil {
				parts = append(parts, cmp.Or(c.Resource.Text, fmt.Sprintf("[resource %s]", c.Resource.URI)))
			}
		}
	}
	if len(parts) == 0 && result.StructuredContent != nil {
		if raw, err := json.Marshal(result.StructuredContent); err == nil {
			return string(raw)
		}
	}
	return strings.Join(parts, "\n")
}
