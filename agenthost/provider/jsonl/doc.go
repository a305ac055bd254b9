// Package jsonl runs any agent of the headless interface (protocol section 4):
// one program per session, one JSON object a line over stdin and stdout.
//
// It owns the mapping between lines and agenthost.Output, and ties confirmations to calls,
// which the interface does not. Turns and the program are stdio's.
//
//	no program ── Run ──► starting ──► turn ──► idle ──┐
//	    ▲                                ▲─── Run ─────┘
//	    └── Stop: end of input, SIGINT, SIGTERM, SIGKILL; or the program exits
//
// An interrupt is the interrupt line, then SIGINT, SIGTERM and SIGKILL of the program's group,
// a grace period apart. A program that took a signal is gone; the next Run starts it again with
// the same HOME.
package jsonl
