// Package usershell runs the shells that users open in the workspaces of sessions: their terminals, what they show
// and how they end.
//
// It does not own who may open a shell (the broker decides), which directories it may use (package sandbox), nor
// HTTP and WebSockets (agenthost/api).
//
//	host ─► launcher of the sandbox ─► user-shell (this binary) ─► pseudo-terminal ─► the shell
//	  input and sizes as frames on stdin │ output on stdout
//
// The terminal is allocated inside of the sandbox, so that no terminal of the host is in reach. All is bounded: a
// screen that does not acknowledge what it got stops the shell's output, and so the programs that write it.
//
//	open ─► shown on one screen ⇄ away (no screen) ─► ended: the shell exits, is idle or away for too long, or
//	                                                  session or credential end
package usershell
