package local

import "bellhop/internal/mcpserver"

// maxCallBody limits a request to /mcp.
const maxCallBody = 256 << 10

const instructions = `These tools are about the workspace you work in: its state, notes that outlive you, further workspaces of the same project, and commands that the operator allows. Files are not their business.`

// newMCP returns the tools of workspaces. The secret of each request names its
// workspace.
func (s *Server) newMCP() *mcpserver.Server {
	server := mcpserver.New(mcpserver.Options{
		Title: "Bellhop workspace", Version: s.Version, Instructions: instructions, MaxBody: maxCallBody, Log: s.Log,
	})
	s.addTools(server)
	return server
}
