// Package journal keeps what an agent host must not forget in one SQLite file:
// sessions, turns, events, interactions, token hashes, offset reservations and
// the outbox's position. It implements agenthost.Journal. tables.go lists the
// columns of each table; a column is added there and in a file of schema/.
//
// It owns durability only. The domain decides what one write contains and in
// which order writes happen.
//
// One goroutine writes. Requests that arrive during a commit share the next one,
// each in a savepoint of its own: many busy sessions cost few syncs, and a bad
// request fails alone. Readers have connections of their own and see what was
// committed.
//
// A damaged file is renamed to journal.db.damaged-<time> together with its -wal
// and -shm files, and an empty one takes its place. The host's sessions then
// continue under a higher epoch (protocol section 2, Epochs).
package journal
