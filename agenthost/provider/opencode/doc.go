// Package opencode runs OpenCode for sessions: one "opencode serve" for each
// session, on the loopback interface, with its own home and password. It uses
// version 1 of OpenCode's HTTP interface and its stream of events.
//
// It owns the program's configuration and environment, the mapping between
// OpenCode's events and agenthost.Output, and workarounds: permissions that survive
// an abort, the end of a turn that came while the stream was lost, a model that
// OpenCode retries without end. Processes and ports belong to internal/servers; the
// limit of one turn at a time, questions and calls belong to package stdio.
//
//	no program ── Run ──► starting ──► turn ──► idle ──┐
//	    ▲                               ▲──── Run ─────┘
//	    └── Stop, or the program exits
//
// A turn opens with the first message of the assistant and ends with the first idle
// event after it; later events belong to no turn. OpenCode answers the request with the
// prompt when it is done with it: until then a silent session has not begun or still
// works, and nothing but the answer shows that a prompt which was given up will not run.
// When the stream breaks, it is
// opened again after 1, 2, 4 … 30 seconds. Then everything that may have been
// missed is read: messages, permissions, questions, and whether the session is
// busy.
//
// An interrupt first rejects all pending requests of the session and its
// sub-agents, because OpenCode would still run a tool that is allowed after the
// abort.
package opencode
