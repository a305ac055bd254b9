// Package workspace gives every session its two directories: the one it works
// in and the one it keeps its state in (HOME and configuration of its agent).
//
// It owns the paths and their permissions, and that a session id or a project
// name never leads out of the data directory. What is put into the directories
// is the agent's business.
//
//	<data>/workspaces/<sessionId>   the working directory, unless a project is named
//	<data>/state/<sessionId>        the state directory
package workspace
