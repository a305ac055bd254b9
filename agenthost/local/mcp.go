package local

import (
	"context"
	"strings"

	"bellhop/internal/mcpserver"
)

// maxCallBody limits a request to /mcp.
const maxCallBody = 256 << 10

const instructions = "These tools are about the workspace you work in: its state, notes that outlive you, " +
	"further workspaces of the same project, and commands that the operator allows. Files are not their business."

// newMCP returns the tools of workspaces. The secret of each request names its
// workspace.
func (s *Server) newMCP() *mcpserver.Server {
	server := mcpserver.New(mcpserver.Options{
		Title:   "Bellhop workspace",
		Version: s.Version, Instructions: instructions, MaxBody: maxCallBody, Log: s.Log, Describe: s.describe,
	})
	s.addTools(server)
	return server
}

// describe lists the commands of the caller's workspace in the description of the tool that
// runs them.
func (s *Server) describe(ctx context.Context, tool string) string {
	if tool != toolExecuteCommand {
		return ""
	}
	names := s.Workspaces.Commands(grantOf(ctx).Path)
	if len(names) == 0 {
		return "The operator has named none for this workspace."
	}
	return "The commands of this workspace: " + strings.Join(names, ", ") + "."
}
