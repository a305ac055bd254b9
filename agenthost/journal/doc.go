// Package journal is an agent host's memory on disk: one SQLite file with
// sessions, turns, events, interactions, token hashes, offset reservations and
// the outbox's position. It implements agenthost.Journal.
//
// It owns durability and nothing else: what belongs into one write, and in which
// order, the domain decides.
//
// One goroutine writes. Requests that arrive while a commit is under way share
// the next one, each in a savepoint of its own, so that many busy sessions cost
// few syncs and a bad request fails alone. Readers have connections of their own
// and see what was committed.
//
// A file that is damaged is renamed to journal.db.damaged-<time> with its
// companions, and an empty one takes its place: the host's sessions then go on
// under a higher epoch (protocol section 2, Epochs).
package journal
