// Package feed carries changes of tasks to consoles as server-sent events: one
// feed per task that resumes exactly, and one per user with a hint per changed
// task (protocol section 1). It owns the two wire forms, the wake-ups (in
// process at once, other replicas by polling revs) and the only use of
// r3labs/sse; it does not own the changes, which it reads from a Source, nor
// who may read them, which its caller decides and repeats on demand.
//
// A wake-up says only "something is newer"; each connection then reads what
// follows its own last rev. So replay and live are the same reads, and nothing
// can fall between them or come twice:
//
//	Changed, poll ──► topic ──wake──► connection ──read after rev──► Source
//	                                      │ ≤ 64 frames, ≤ 1 MiB in flight
//	                                      ▼
//	                              r3labs stream ──► writer, 5 s per write
//
// A publisher only sets a flag per connection and never waits for one. A client
// that does not read is cut by the write deadline and resumes by id.
package feed
