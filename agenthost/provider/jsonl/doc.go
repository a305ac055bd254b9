// Package jsonl runs any agent of the headless interface (protocol section 4):
// one program per session, one JSON object a line over stdin and stdout.
//
// It owns the mapping between lines and agenthost.Output, the correlation of
// questions with their answers, and when the program runs. Process groups are
// internal/process, lines internal/jsonlines; what becomes of parts and events
// is the agent host's business.
//
//	no program ── Run ──► starting ──► turn ──► idle ──┐
//	    ▲                                ▲─── Run ─────┘
//	    └── Stop: end of input, SIGINT, SIGTERM, SIGKILL; or the program exits
//
// An interrupt is the interrupt line, then SIGINT, SIGTERM and SIGKILL of the
// program's group, a grace apart. A program that took a signal is gone; the
// next Run starts it again with the same HOME, where it keeps what it knows.
package jsonl
