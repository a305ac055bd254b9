// Package jsonl runs any agent of the headless interface (protocol section 4): one
// program per session, with one JSON object per line on stdin and stdout.
//
// It owns the mapping between lines and agenthost.Output. It also finds the call
// that a confirmation belongs to, because the interface does not name it. Turns and
// the program belong to package stdio.
//
//	no program ── Run ──► starting ──► turn ──► idle ──┐
//	    ▲                                ▲─── Run ─────┘
//	    └── Stop: end of input, SIGINT, SIGTERM, SIGKILL; or the program exits
//
// An interrupt is the interrupt line, then SIGINT, SIGTERM and SIGKILL for the
// program's group, a grace period apart. A program that received a signal exits;
// the next Run starts it again with the same HOME.
package jsonl
