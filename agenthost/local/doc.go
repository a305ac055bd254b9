// Package local is what an agent host offers to the programs in its workspaces,
// on a loopback listener of its own: POST /hook, where a Claude Code that a person
// runs in a terminal tells what it does, and /mcp, tools for the workspace itself.
//
// It owns the words of hooks and of tools, who may call them, and the running of
// named commands. What a status means is package agenthost's, what a workspace is
// the WorkspaceManager's.
//
// Every request carries the secret of one workspace. X-Workspace-Path selects
// among the workspaces that the secret may see, and gives no right by itself: the
// session's own, and those that its agent has made.
package local
