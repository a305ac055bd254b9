// Package acp runs any agent of the Agent Client Protocol, version 1, by its
// command line: one program per session with stdin and stdout.
//
// It owns the mapping of session updates and permission requests to
// agenthost.Output. It adds the parts that the protocol leaves out: the ends of
// text blocks, the call of a permission request that comes before it, the result of
// a call that was rejected without an update. acp-go-sdk handles requests and
// responses. This package decodes updates itself, in the order of the lines, and
// ignores unknown members, because an agent may be newer than the SDK. Turns and
// the program belong to package stdio.
//
//	no program ── Run ──► initialize ──► session/load or session/new ──► session/prompt
//	    ▲                                                                    │
//	    │           idle ◄── its response ── updates, permissions ◄──────────┘
//	    └── Stop: end of input, SIGINT, SIGTERM, SIGKILL; or the program exits
//
// An interrupt answers every open permission request with cancelled (otherwise an
// agent may hang), sends session/cancel, then signals the program's group. The host
// offers no file system and no terminal: agents use their own.
package acp
