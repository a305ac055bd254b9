// Package access decides which workspace a session works in, and answers what callers may read of workspaces:
// those of an owner, a session's path, the files that messages can name. It checks the keys of requests.
//
// The workspaces themselves belong to package workspace, the sessions to package agenthost.
package access
