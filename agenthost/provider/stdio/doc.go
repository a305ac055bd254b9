// Package stdio is the engine of agents that are programs with messages on stdin and
// stdout. It implements agenthost.Agent; a provider adds a Protocol, which maps the
// program's messages to agenthost.Output.
//
// It owns the child process and its bounded writer, the one turn at a time, how a
// turn is cancelled, what is closed when it ends, questions that wait for the user,
// and the environment of programs. Process groups are internal/process, lines
// internal/jsonlines, the meaning of lines the provider's.
//
//	no child ── Run ──► Command, Connect ──► Open ──► Prompt ──► Handle … ─► Outcome
//	   ▲                                      ▲                                │
//	   │                                      └───────────── Run ── idle ◄─────┘
//	   └── Stop: end of input, SIGINT, SIGTERM, SIGKILL; or the program exits
//
// A child that has exited while it was idle is replaced if it sent nothing after the
// prompt; its turn then starts again with another child.
//
// A cancelled turn first cancels its questions, then asks the program to stop, and
// after the grace period signals the program's group. A program that took a signal is
// gone; the next Run starts it again.
package stdio
