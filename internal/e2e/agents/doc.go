// Package agents tests the complete use of every real agent: `bellhop dev` as a user starts it,
// a git repository as its project, the agent's own program, and a scripted model, which is the
// only server that the agents can reach.
//
// It owns the rules for all agents: what a user sees of a turn, that a tool runs only after the
// user's answer, that files change only in the session's own clone, that the journal and the
// database agree, and that a conversation survives a restart of the host. Peculiarities of one
// agent are tested with its provider.
//
// The tests need the programs: `make test-agents`.
package agents
