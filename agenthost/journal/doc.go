// Package journal stores the durable data of an agent host in one SQLite file:
// sessions, turns, events, interactions, token hashes, offset reservations and the
// outbox's position. It implements agenthost.Journal. tables.go lists the columns
// of each table; a new column needs an entry there and a file in schema/.
//
// It owns durability only. The domain decides what one write contains and in
// which order writes happen.
//
// One goroutine writes. Requests that arrive during a commit share the next one,
// each in its own savepoint: many busy sessions cost few syncs, and an invalid
// request fails alone. Readers have their own connections and see committed data.
//
// A damaged file is renamed to journal.db.damaged-<time> together with its -wal
// and -shm files, and an empty one takes its place. The host's sessions then
// continue under a higher epoch (protocol section 2, Epochs).
package journal
