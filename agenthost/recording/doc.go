// Package recording owns the file that "bellhop host --record" writes, and its replay.
//
// A recording holds every input of every session's core, one JSON object a line, in the
// order in which the host applied them. Because the core is pure, the inputs alone give
// every state and every step again:
//
//	Host ──inputs──► Writer ──► file, file.1, … ──► Read ──► Replay ──► states and steps
//
// The host masks known secrets before an input comes here. The package knows the core and
// no host: it starts no agent, opens no journal and sends nothing.
//
// A line with the member "recording" begins a run of the host, or a further file of it.
// Every other line is a core.Recorded with the session's id.
package recording
