// Package e2e owns the tests of the whole product: the real binary as child processes, or
// internal/app if a test needs a manual clock, behind proxies that fail on demand.
//
// The main test is the crash test. Workers run turns while broker and host are killed, at
// random and at every named fail point, and while the connections between them break.
// Afterwards all faults end, and a history checker in the manner of Jepsen compares the
// journal, the database and the frames that every reader received:
//
//	load ──► recorder (every byte of every stream) ─┐
//	chaos ─► nodes, proxies                         ├─► history ─► check ─► violations
//	journal file, GET …/events, database ───────────┘
//
// The checker is a function of a history and does not know processes. Its own tests show what
// it detects.
//
// Variables: BELLHOP_LONG=1 runs the long form, BELLHOP_SEED=n one seed. No code of this
// package ships, and no package imports it.
package e2e
