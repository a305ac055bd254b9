// Package codex runs OpenAI Codex as `codex app-server`: one program per
// session, JSON-RPC without its version member, one message a line.
//
// It owns the codec, the mapping of threads, turns, items and approvals to
// agenthost.Output, and the configuration it writes before each start
// (CODEX_HOME is StateDir/.codex). Process groups are internal/process, lines
// internal/jsonlines, templates internal/configfile. Which calls are allowed is
// decided by the host: Codex is told to ask for everything it does not itself
// hold to be harmless, and never to remember an answer.
//
//	no program ── Run ──► initialize ──► thread/resume or thread/start ──► turn/start
//	    ▲                                                                     │
//	    │                   idle ◄── turn/completed ── items, approvals ◄─────┘
//	    └── Stop: end of input, SIGINT, SIGTERM, SIGKILL; or the program exits
//
// A turn/start while a turn runs would steer that turn, cutting its answer: Run
// refuses a second turn before it comes to that. An interrupt cancels the open
// approvals, asks turn/interrupt, then signals the program's group.
package codex
