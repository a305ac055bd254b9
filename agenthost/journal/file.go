package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"

	"bellhop/agenthost"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// filePage is the number of events that a File reads at once.
const filePage = 500

// fileCache is the cache of each connection of a File, in KiB. The events of a session are
// scattered over the file, among those of others.
const fileCache = 64 << 10

// File reads a journal, also while its host runs, or a copy of one. It writes nothing.
type File struct{ journal Journal }

// OpenFile opens a journal for reading. CodeConflict: it was made before 0.1.0.
func OpenFile(path string) (*File, error) {
	if _, err := os.Stat(path); err != nil { // SQLite would create it
		return nil, fmt.Errorf("journal: %w", err)
	}
	at := location{path: path}
	if err := checkAge(at); err != nil {
		return nil, err
	}
	readers, err := openReaders(at, fmt.Sprintf("cache_size(-%d)", fileCache))
	if err != nil {
		return nil, fmt.Errorf("open journal for reading: %w", err)
	}
	return &File{Journal{path: path, readers: readers}}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.journal.readers.Close() }

// Sessions returns the sessions that are bound to a broker, by id.
func (f *File) Sessions(ctx context.Context, brokerID string) ([]agenthost.SessionRecord, error) {
	return find(ctx, &f.journal, sessions, "sessions", "WHERE broker_id = ? AND outbox_state <> ? ORDER BY id",
		brokerID, string(agenthost.OutboxNone))
}

// eventBody is an event with what File needs of it.
type eventBody struct {
	Cursor protocol.Cursor
	Body   json.RawMessage
}

var eventBodies = table.New("events",
	table.Integer("epoch", func(e *eventBody) *int64 { return &e.Cursor.Epoch }),
	table.Integer("seq", func(e *eventBody) *int64 { return &e.Cursor.Seq }),
	table.Bytes("body", func(e *eventBody) *json.RawMessage { return &e.Body }),
)

// Events yields the bodies of a session's events, ascending, over all epochs.
func (f *File) Events(ctx context.Context, sessionID string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for at := (protocol.Cursor{}); ; {
			rows, err := find(ctx, &f.journal, eventBodies, "events",
				"WHERE session_id = ? AND (epoch, seq) > (?, ?) ORDER BY epoch, seq LIMIT ?", sessionID, at.Epoch, at.Seq, filePage)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range rows {
				if !yield(rows[i].Body, nil) {
					return
				}
				at = rows[i].Cursor
			}
			if len(rows) < filePage {
				return
			}
		}
	}
}
