// Package claude runs Claude Code by its own binary: one program per session,
// stream-json and the control protocol over stdin and stdout, no Node.
//
// It owns the mapping between the program's messages and agenthost.Output, the permission
// and question requests of the control protocol, the program's configuration files, and
// which session it resumes. Turns and the program are stdio's, templates
// internal/configfile's. Options.Find says where the program is.
//
//	no program ── Run ──► starting ──► turn ──► idle ──┐
//	    ▲                                ▲─── Run ─────┘
//	    └── Stop, Terminal: end of input, SIGINT, SIGTERM, SIGKILL; or it exits
//
// A turn is the program's answer to the prompt and everything it does unasked because of it:
// sub-agents and commands in the background outlive the first result, and the program then
// begins a turn of its own to report them.
//
//	prompt ─► init … result ─┬─ nothing runs, the program is idle ─► Outcome
//	              ▲          └─ background tasks run ─┐
//	              └── init without a prompt ◄─────────┘ the task ended
//
// A command left running in the background, such as a server, therefore holds
// the turn open until it is interrupted, which ends the command too.
//
// A program that is killed loses what it has not written to its session yet, some tenths of a
// second. If it has written nothing there is no session, and the next program gets the record
// of the conversation with its prompt.
//
// A limit: a connection to the model that is cut in the middle of a text may end, after the
// program's own retries, as a clean success with half the text. Its messages do not differ
// from those of a complete answer.
package claude
