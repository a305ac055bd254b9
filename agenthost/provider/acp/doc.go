// Package acp runs any agent of the Agent Client Protocol, version 1, by its
// command line: one program per session over stdin and stdout.
//
// It owns the mapping of session updates and permission requests to agenthost.Output, and
// adds what the protocol leaves out: the ends of text blocks, the call of a permission that
// comes before it, the result of a call that was rejected without an update. Requests and
// responses are acp-go-sdk's; updates are read here, in the order of the lines, and
// tolerantly: an agent may be newer than the SDK. Turns and the program are stdio's.
//
//	no program ── Run ──► initialize ──► session/load or session/new ──► session/prompt
//	    ▲                                                                    │
//	    │           idle ◄── its response ── updates, permissions ◄──────────┘
//	    └── Stop: end of input, SIGINT, SIGTERM, SIGKILL; or the program exits
//
// An interrupt answers every open permission request with cancelled (an agent may hang
// otherwise), sends session/cancel, then signals the program's group. The host offers no
// file system and no terminal: agents use their own.
package acp
