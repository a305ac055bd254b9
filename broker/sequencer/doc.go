// Package sequencer decides for every event of a request whether the broker accepts
// it, already has it or refuses it. Decide is a pure function: it uses no store, no
// clock and no context, and imports only protocol.
//
//	State{Cursor, Known} + []Event ──Decide──► Decision ──Record──► State
//
// A decision by the event's id and position:
//
//	id known, same digest            duplicate (fenced, if it was stored as late)
//	the same content, other epoch    moved, if the position is the next one; else see request.move
//	id known, its body was removed   like the same content
//	id known, other digest           conflict
//	no position (basic host)         accepted
//	the next seq of the epoch        accepted
//	an epoch that is not verified    unverified: the caller asks the host, and calls Decide again
//	seq 1 of a later epoch           accepted, the earlier epoch is over
//	an earlier epoch                 fenced, stored as late
//	a seq at or below the cursor     diverged
//	anything else                    gap
//
// A host gives its events new positions after its journal was restored from an older
// copy (protocol section 2, "diverged"). The broker may have some of them already, by a
// request that was delayed or a pull. Their rows follow, so that journal and database
// agree position by position.
//
// Package broker stores the result of the decision and applies the effects. A test
// can run Decide and Record through every order of deliveries instead.
package sequencer
