// Package claude runs Claude Code by its own binary: one program per session, with
// stream-json and the control protocol on stdin and stdout. It does not need
// Node.js.
//
// It owns the mapping between the program's messages and agenthost.Output, the
// permission and question requests of the control protocol, the program's
// configuration files, and the choice of the session to resume. Turns and the
// program belong to package stdio, templates to internal/configfile. Options.Find
// returns the path of the program.
//
//	no program ── Run ──► starting ──► turn ──► idle ──┐
//	    ▲                                ▲─── Run ─────┘
//	    └── Stop, Terminal: end of input, SIGINT, SIGTERM, SIGKILL; or it exits
//
// A turn is the program's answer to the prompt and all work that follows from it:
// sub-agents and background commands outlive the first result, and the program then
// begins a turn by itself to report them.
//
//	prompt ─► init … result ─┬─ nothing runs, the program is idle ─► Outcome
//	              ▲          └─ background tasks run ─┐
//	              └── init without a prompt ◄─────────┘ the task ended
//
// Therefore a background command that does not end, such as a server, keeps the
// turn open until it is interrupted, which ends the command too.
//
// A killed program loses the part of its session that it has not stored yet, some
// tenths of a second. If it has stored nothing, the session does not exist, and the
// next program gets the restored context with its prompt.
//
// Known limit: if the connection to the model is cut in the middle of a text, the
// program may retry and then report a success with half the text. Its messages do
// not differ from those of a complete answer.
package claude
