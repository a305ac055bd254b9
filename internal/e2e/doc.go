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
// "make test" runs the core: the main job on both databases, a crash of either side, a stream that is cut,
// an interrupt, a permission by clients of every language, a workspace, a notebook, basic hosts and brokers, secrets
// in logs. A file of any other story, and of a kit that only such stories need, begins with "//go:build full"; "make
// check" has that tag. A new story is in the core only if most changes could break it and no core story notices.
//
// Stories run in parallel, four at once unless -parallel says otherwise. Each has its own servers on addresses of
// freeAddr, and a copy of a prepared database; a story that stops or breaks PostgreSQL starts its own.
//
// Variables: BELLHOP_TEST_BINARY names a built program (testenv.Binary), BELLHOP_DATABASES=both runs stories
// on both databases instead of one, BELLHOP_LONG=1 runs the long form, BELLHOP_SEED=n one seed. No code of this
// package ships, and no package imports it.
package e2e
