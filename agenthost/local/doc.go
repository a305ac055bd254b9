// Package local serves the programs in an agent host's workspaces on a separate
// loopback listener. POST /hook receives the status of a Claude Code that a user
// runs in a terminal. /mcp offers tools for the workspace.
//
// It owns the formats of hooks and tools, their access control, and running named
// commands. Package agenthost owns the effect of a status, the WorkspaceManager
// the workspaces.
//
// Every request contains the workspace secret of a session. The secret allows the
// session's workspace and those that its agent created. X-Workspace-Path selects
// one of them and grants no access by itself.
package local
