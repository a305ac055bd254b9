// Package codex runs OpenAI Codex as `codex app-server`: one program per
// session, JSON-RPC without its version member, one message a line.
//
// It owns the codec, the mapping of threads, turns, items and approvals to agenthost.Output,
// and the configuration it writes before each start (CODEX_HOME is StateDir/.codex). Turns and
// the program are stdio's, templates internal/configfile's. The host decides which calls are
// allowed: Codex is configured to ask for everything that it does not know to be harmless, and
// never to remember an answer.
//
//	no program ── Run ──► initialize ──► thread/resume or thread/start ──► turn/start
//	    ▲                                                                     │
//	    │                   idle ◄── turn/completed ── items, approvals ◄─────┘
//	    └── Stop: end of input, SIGINT, SIGTERM, SIGKILL; or the program exits
//
// A turn/start while a turn runs would steer that turn, cutting its answer: the engine refuses
// a second turn. An interrupt cancels the open approvals, sends turn/interrupt, then signals
// the program's group.
package codex
