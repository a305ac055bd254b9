// Package claude runs Claude Code by its own binary: one program per session,
// stream-json and the control protocol over stdin and stdout, no Node.
//
// It owns the mapping between the program's messages and agenthost.Output, the
// permission and question requests of the control protocol, the program's
// configuration files, and when it runs and what it resumes. Process groups are
// internal/process, lines internal/jsonlines, templates internal/configfile.
// Where the program comes from is Options.Find's business, what becomes of parts
// and events the agent host's.
//
//	no program ── Run ──► starting ──► turn ──► idle ──┐
//	    ▲                                ▲─── Run ─────┘
//	    └── Stop, Terminal: end of input, SIGINT, SIGTERM, SIGKILL; or it exits
//
// A turn is the program's answer to the prompt and everything it does unasked
// because of it: sub-agents and commands in the background outlive the first
// result, and the program then begins a turn of its own to speak about them.
//
//	prompt ─► init … result ─┬─ nothing runs, the program is idle ─► Outcome
//	              ▲          └─ background tasks run ─┐
//	              └── init without a prompt ◄─────────┘ the task ended
//
// A command left running in the background, such as a server, therefore holds
// the turn open until it is interrupted, which ends the command too.
//
// A program that is killed loses what it has not written to its session yet, some
// tenths of a second; one that has written nothing has no session, and the next
// one is told what was said before.
//
// What cannot be told apart: a connection to the model that is cut in the middle
// of a text may end, after the program's own tries, as a clean success with half
// the text. Nothing in its messages differs from a whole answer.
package claude
