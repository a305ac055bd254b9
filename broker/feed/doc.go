// Package feed sends changes of tasks to consoles as server-sent events: one feed per
// task that resumes exactly, and one per user with a hint per changed task (protocol
// section 1). It owns the two wire forms, the wake-ups (at once for changes of this
// process, by polling revs for those of other replicas) and the only use of
// r3labs/sse. It does not own the changes, which it reads from a Source, nor the
// permission to read them, which its caller checks again on demand.
//
// A wake-up means only that something may be newer; each connection then reads what
// follows its own last rev. Replay and live updates are the same reads, so nothing is
// lost between them or sent twice:
//
//	Changed, poll ──► topic ──wake──► connection ──read after rev──► Source
//	                                      │ ≤ 64 frames, ≤ 1 MiB in flight
//	                                      ▼
//	                              r3labs stream ──► writer, 5 s per write
//
// One stalled client of r3labs/sse v2.10.0 blocks the run loop of its stream, an event without data ends the
// response and can deadlock, and Close leaks a goroutine per client. So each connection has a stream of its own with a
// random name and no replay, every event has an id and data with normalised line ends, and a stream is removed after
// its subscriber. Its client takes a clean EOF for the end, so it is not used for streams that last.
//
// A publisher only sets a flag per connection and never waits for one. A client that
// does not read is disconnected at the write deadline and resumes by id.
package feed
