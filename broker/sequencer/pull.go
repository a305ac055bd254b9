package sequencer

import "bellhop/protocol"

// Page describes a host's answer to a pull.
type Page struct {
	Epoch   int64 // of the page's events
	Current int64 // the epoch that the host is in
	Events  int   // number of events
}

// Follows reports whether a page that was asked for after a cursor has events to
// ingest. A host that is behind the broker starts a new epoch at its next /session.
func (p Page) Follows(cursor protocol.Cursor) bool { return p.Events > 0 && p.Epoch >= cursor.Epoch }

// Continues reports whether there is more to pull, after a page of at most limit events
// moved the cursor from former to next.
func (p Page) Continues(former, next protocol.Cursor, limit int) bool {
	return next != former && (p.Events >= limit || p.Epoch < p.Current)
}

// Regressed reports that the database was restored to an older state: a host has a receipt
// for an event after the cursor, and receipts are sent after the commit.
func Regressed(cursor, receipt protocol.Cursor) bool { return cursor.Less(receipt) }
