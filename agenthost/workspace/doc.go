// Package workspace gives every session a working directory and a state
// directory (HOME and configuration of its agent), and computes the diff of what
// a session has changed.
//
// It owns the paths, their permissions and the records of which session owns
// which directory; the git repositories and branches that it makes; and the
// check that no session id or project name leads out of the data directory. It
// does not own the files that agents write into the directories.
//
//	<data>/workspaces/<sessionId>       a session's clone, or its own repository
//	<data>/workspaces/@<name>           a workspace created by name, without a session
//	<data>/workspaces/.records/         owner records, one file each, and locks
//	<data>/workspaces/.mirrors/         objects and refs of clones and own repositories, for the host's git
//	<data>/workspaces/.snapshots/       the state of each workspace's files, for the host's git
//	<data>/projects/<name>              the clone of a project that is configured with a URL
//	<data>/state/<sessionId>            the state directory
//
// A session's directory is of one of four kinds:
//
//	clone     the project is a git repository: a clone on a branch of its own, which
//	          reads the project's objects; the host fetches the branch into the project
//	own       no project: a git repository of its own, with an empty first commit,
//	          written without starting git
//	shared    a project without commits, or worktree: false: the project's directory itself
//	found     no project and no repository, because git is missing
//
// A session can instead work in a workspace created by name, which it neither owns nor removes.
//
// Agents can change everything in a repository in which they have worked, also while the host
// reads it. So a confined reader reads the files (package treereader), and the host's
// git runs in a store of snapshots and in a mirror, which agents cannot change. It does not trust the mirror
// either: it starts no hook, filter, monitor, pager or other configured program, never
// asks for a password, has limits on output and time, and does not follow .git files.
package workspace
