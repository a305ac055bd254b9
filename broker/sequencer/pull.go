package sequencer

import "bellhop/protocol"

// Page describes what a host answered to a pull.
type Page struct {
	Epoch   int64 // of its events
	Current int64 // the host's own
	Events  int
}

// Follows reports whether a page that was asked for after a cursor has events to
// ingest. A host that is behind the broker starts a new epoch at its next /session.
func (p Page) Follows(cursor protocol.Cursor) bool { return p.Events > 0 && p.Epoch >= cursor.Epoch }

// Continues reports whether there is more to pull, after a page of at most limit events
// moved the cursor from former to next.
func (p Page) Continues(former, next protocol.Cursor, limit int) bool {
	return next != former && (p.Events >= limit || p.Epoch < p.Current)
}

// Regressed reports that the database went back in time: a host has a receipt for an
// event behind the cursor. A receipt is sent after the commit.
func Regressed(cursor, receipt protocol.Cursor) bool { return cursor.Less(receipt) }
