package opencode

import (
	"slices"
	"strings"
)

// ownTools are OpenCode's own tools that could look like those of a server.
var ownTools = []string{"apply_patch", "plan_enter", "plan_exit", "external_directory", "doom_loop"}

// toolName returns the name of a tool for the host and its policy. OpenCode calls
// a server's tool "server_tool"; "mcp__server__tool" is the same for all agents.
func (c *configuration) toolName(name string) string {
	if slices.Contains(ownTools, name) {
		return name
	}
	servers, _ := c.file["mcp"].(object)
	found := ""
	for server := range servers {
		if server = plainName(server); len(server) > len(found) && strings.HasPrefix(name, server+"_") {
			found = server
		}
	}
	if found == "" {
		return name
	}
	return "mcp__" + found + "__" + name[len(found)+1:]
}

// plainName returns a server's name as OpenCode puts it before the names of its tools.
func plainName(server string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, server)
}
