// Package codex runs OpenAI Codex as `codex app-server`: one program per session,
// with one JSON-RPC message per line and without the jsonrpc member.
//
// It owns the codec, the mapping of threads, turns, items and approvals to
// agenthost.Output, and the configuration that it writes before each start
// (CODEX_HOME is StateDir/.codex). Turns and the program belong to package stdio,
// templates to internal/configfile. The host decides which calls are allowed: Codex
// is configured to ask for everything that it does not know to be harmless, and
// never to remember an answer.
//
//	no program ── Run ──► initialize ──► thread/resume or thread/start ──► turn/start
//	    ▲                                                                     │
//	    │                   idle ◄── turn/completed ── items, approvals ◄─────┘
//	    └── Stop: end of input, SIGINT, SIGTERM, SIGKILL; or the program exits
//
// A turn/start during a turn would steer that turn and cut its answer, so the
// engine refuses a second turn. An interrupt cancels the open approvals, sends
// turn/interrupt, then signals the program's group.
package codex
