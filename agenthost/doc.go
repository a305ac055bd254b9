// Package agenthost is the agent host's domain: it finds, opens, recovers and stops
// sessions, and acts for them. It owns the rules of protocol section 2.
//
// It does not decide what happens to a session (agenthost/core), send requests
// (agenthost/delivery), keep frames for readers (agenthost/stream), make lines
// (agenthost/headless), collect the turns of terminal clients (agenthost/terminal), or choose
// the workspace of a session (agenthost/access).
// HTTP is in agenthost/api, the journal's file in agenthost/journal, directories in
// agenthost/workspace, agent programs in agenthost/provider/….
//
// A session is a core.State under a lock. Every change is one step: decide, commit
// the rows, replace the state, publish the frames, run the effects. So an event is
// committed to the journal, with every change of turn, interaction and session that
// belongs to it, before its part reaches a stream and before delivery may see it.
// Text deltas live in memory only.
//
//	            Open(turn)            Start                 the agent, Interrupt, a restart
//	(nothing) ───────────► announced ───────► open ───────────────────────────► finished
//	                           └── superseded, or its tokens expired ──► finished (not-started)
//
//	host.go       Host: start, run, end; its sessions
//	options.go    what a host is made of: journal, workspaces, agent programs
//	open.go       sessions opened and deleted, their tokens and events
//	session.go    a session: steps, recovery, readers
//	effects.go    effects of steps; delivery's side of a session
//	clients.go    prompts and the queue; the headless interface
//	turn.go       turns as they run, and how they and their agents are stopped
//	agent.go      the agent of a session: opened, closed; its workspace
//	output.go     what an agent reports; questions
//	terminal.go   agents' own terminal clients
//	status.go     status of host and workspaces; hooks
//	reconcile.go  the sessions of one broker: listed, compared, keyed, credentials revoked
package agenthost
