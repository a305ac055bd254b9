// Package agenthost is the remote agent server's domain: sessions, turns, the
// events and frames they make, interactions, stream tokens, and the outbox that
// brings events to the broker. It owns the rules of protocol section 2.
//
// It does not own HTTP (agenthost/api), the journal's file (agenthost/journal),
// directories (agenthost/workspace) or any agent program (agenthost/provider/…).
//
// One rule holds everything together, append before announce: an event is
// committed to the journal, together with every change of turn, interaction and
// session that belongs to it, before its part reaches a stream and before the
// outbox may see it. Text deltas live in memory only.
//
//	            Open(turn)            Start                 the agent, Interrupt, a restart
//	(nothing) ───────────► announced ───────► open ───────────────────────────► finished
//	                           └── superseded, or its tokens expired ──► finished (not-started)
//
// Each session has one lock. Sequence numbers and frame offsets are given, and
// frames published, while it is held; so a snapshot and a subscription taken
// under it resume exactly.
package agenthost
