// Package stdio is the engine of agents that are programs with messages on stdin
// and stdout. It implements agenthost.Agent; a provider adds a Protocol, which maps
// the program's messages to agenthost.Output.
//
// It owns the child process and its bounded writer, the limit of one turn at a
// time, the cancellation of a turn, the closing of blocks and calls at its end,
// open questions to the user, and the environment of programs. Process groups
// belong to internal/process, lines to internal/jsonlines, and the meaning of lines
// to the provider.
//
//	no child ── Run ──► Command, Connect ──► Open ──► Prompt ──► Handle … ──► Outcome
//	   ▲                                              ▲                          │
//	   │                                              └────── Run ── idle ◄──────┘
//	   └── Stop: end of input, SIGINT, SIGTERM, SIGKILL; or the program exits
//
// If a child exited while it was idle and sent nothing after the prompt, the turn
// starts again with another child.
//
// Cancelling a turn first cancels its questions, then asks the program to stop, and
// after the grace period signals the program's group. A program that received a
// signal exits; the next Run starts it again.
//
// A line over Config.MaxLine stops the turn in the same way, with an error: it may have
// been the end of the turn, or a question that the program waits for.
package stdio
