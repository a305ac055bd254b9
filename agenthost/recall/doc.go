// Package recall makes the restored context of a session for an agent whose own memory is gone:
// the last turns as JSON lines, bounded in size, read from the journal.
package recall
