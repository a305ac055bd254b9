// Package opencode runs OpenCode for sessions: one "opencode serve" for each,
// on the loopback, with a home and a password of its own, driven over HTTP
// (version 1 of its interface) and its stream of events.
//
// It owns the program's configuration and environment, the mapping between OpenCode's events
// and agenthost.Output, and repairs: permissions that outlive an abort, the end of a turn that
// came while the stream was lost, a model that OpenCode retries for ever. Processes and ports
// are internal/servers; one turn at a time, questions and calls are stdio's.
//
//	no program ── Run ──► starting ──► turn ──► idle ──┐
//	    ▲                               ▲──── Run ─────┘
//	    └── Stop, or the program exits
//
// A turn opens with the first message of the assistant and ends with the first idle after it;
// what comes later belongs to no turn. When the stream breaks it is followed again after
// 1, 2, 4 … 30 seconds, and all that may have been missed is read: messages, permissions,
// questions, whether the session is busy.
//
// An interrupt first rejects what is pending, in the session and its sub-agents: OpenCode
// would still run a tool that is allowed after the abort.
package opencode
