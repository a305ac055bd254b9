// Package agents tells the whole story of every real agent: `bellhop dev` as a
// user starts it, a git repository as its project, the agent's own program, and
// a scripted model as the only thing that any of them can reach.
//
// It owns what must be true of all agents alike: what a user sees of a turn,
// that a tool runs after the answer and never without it, that files change in
// the session's own worktree and nowhere else, that the journal and the database
// tell the same, and that a conversation outlives the host. What is peculiar to
// one agent is tested beside its provider.
//
// The tests need the programs: `make test-agents`.
package agents
