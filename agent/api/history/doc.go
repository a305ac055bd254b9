// Package history stores the lines of sessions in a file, so that they can be read after the
// session, and the process, have ended.
//
//	<dir>/history.db      SQLite, mode 0600
//	<dir>/history.lock    held while the store is open: one process at a time
//
//	Begin ─► Append … ─► End ─► (retention, or the bound of the size) ─► deleted
//	            │                                     ▲
//	            └── the process died: Open ends it ───┘
//
// Lines are durable when Append returns. The package stores hashes of tokens, not tokens, and
// lines as they are passed in: attachments are named by the caller, not repeated. It does not
// know agents, clients or HTTP. A file that is damaged, or that another program wrote, is an
// error of Open; it is never changed.
package history
