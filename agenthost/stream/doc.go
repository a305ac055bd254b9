// Package stream owns what readers of a session see: the newest frames in memory,
// the fan-out of new ones, the backlog of a reader that resumes, and the end of streams whose
// credential ends.
//
// It does not own turns, events or offsets: the session decides what becomes a frame,
// gives it its id and writes the journal first. The package knows the journal only as
// the Journal interface, and nothing of HTTP.
//
//	Publish ──► window (≤ 4 MiB, begins after a boundary) ──► Attach: backlog of a reader
//	   └──────► fan-out of the open turn, fan-out of the session ──► live frames of a reader
//
// A reader's cursor is the id of its newest frame. If the window holds the frame, the
// backlog is exactly what followed. Otherwise the backlog says gap and rebuilds the
// cursor's turn, and the turns after it, from the journal: every text as one delta.
//
// A Stream has no lock: the session's lock covers it, so that a backlog and its
// subscription fit together without a hole. CredentialStreams belong to a whole host and have
// their own.
package stream
