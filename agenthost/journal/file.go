package journal

import (
	"context"
	"fmt"
	"os"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// File reads a journal, also while its host runs, or a copy of one. It writes nothing.
type File struct{ journal Journal }

// OpenFile opens a journal for reading.
func OpenFile(path string) (*File, error) {
	if _, err := os.Stat(path); err != nil { // SQLite would create it
		return nil, fmt.Errorf("journal: %w", err)
	}
	readers, err := openReaders(location{path: path})
	if err != nil {
		return nil, fmt.Errorf("open journal for reading: %w", err)
	}
	return &File{Journal{path: path, readers: readers}}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.journal.readers.Close() }

// Sessions returns the sessions that are bound to a broker, by id.
func (f *File) Sessions(ctx context.Context, brokerID string) ([]agenthost.SessionRecord, error) {
	return find(ctx, &f.journal, sessions, "sessions", "WHERE broker_id = ? AND outbox_state <> ? ORDER BY id", brokerID, string(agenthost.OutboxNone))
}

// Events returns a session's events after a cursor, ascending, over all epochs.
func (f *File) Events(ctx context.Context, sessionID string, after protocol.Cursor, limit int) ([]agenthost.EventRecord, error) {
	return f.journal.Pending(ctx, sessionID, after, limit)
}
