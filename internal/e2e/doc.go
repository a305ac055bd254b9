// Package e2e owns the tests of the whole product: the real binary as child
// processes, or internal/app where a clock has to be set by hand, between
// proxies that fail on demand.
//
// Its heart is the crash test. Workers run turns while broker and host are
// killed, at random and at every named fail point, and while the connections
// between them break; then everything heals, and a history checker in the manner
// of Jepsen compares what the journal holds, what the database holds and what
// every reader of a stream has seen:
//
//	load ──► recorder (every byte of every stream) ─┐
//	chaos ─► nodes, proxies                         ├─► history ─► check ─► violations
//	journal file, GET …/events, database ───────────┘
//
// The checker knows nothing of processes: it is a function of a history, with
// tests of its own that prove what it catches.
//
// Variables: BELLHOP_TORTURE=1 runs the long form, BELLHOP_SEED=n one seed. The
// package has no code that ships, and nothing imports it.
package e2e
