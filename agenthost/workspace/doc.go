// Package workspace gives every session its two directories: the one it works
// in and the one it keeps its state in (HOME and configuration of its agent),
// and tells what a session has changed.
//
// It owns the paths and their permissions, that a session id or a project name
// never leads out of the data directory, the git worktrees, branches and clones
// it makes, and the record of who owns which. What is put into the directories
// is the agent's business.
//
//	<data>/workspaces/<sessionId>       a session's worktree, or its own repository
//	<data>/workspaces/@<name>           one made by name, without a session
//	<data>/workspaces/.records/         owner records, one file each, and locks
//	<data>/projects/<name>              the clone of a project that has an address
//	<data>/state/<sessionId>            the state directory
//	<data>/state/<sessionId>/.base/     what a directory used in place held at first
//
// A session's directory is one of three kinds:
//
//	worktree  the project is a git repository: a worktree on a branch of its own
//	own       no project: a git repository of its own, with an empty first commit
//	shared    a plain directory, or worktree: false: the project's directory itself
//
// Repositories belong to agents as soon as they have worked there, so git is run
// as if each were hostile: no hook, filter, monitor, pager or other program that
// its configuration names is started, nothing asks for a password, output and
// time are bounded, and no repository's own .git file is believed.
package workspace
