package store

import (
	"context"
	"encoding/json"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// events has the columns of an event that the broker reads.
var events = table.New("log",
	table.Text("event_id", func(e *broker.StoredEvent) *string { return &e.EventID }),
	table.Integer("COALESCE(epoch, 0)", func(e *broker.StoredEvent) *int64 { return &e.Epoch }),
	table.Integer("COALESCE(event_seq, 0)", func(e *broker.StoredEvent) *int64 { return &e.Seq }),
	table.TextBytes("body", func(e *broker.StoredEvent) *json.RawMessage { return &e.Body }),
	table.Bool("late", func(e *broker.StoredEvent) *bool { return &e.Late }),
)

func (s *Store) KnownEvents(ctx context.Context, taskID string, ids []string) ([]broker.StoredEvent, error) {
	return database.Find(ctx, s.db, events, "Events of task", taskID,
		"WHERE "+ofTask+" AND event_id IN ?", taskID, ids)
}

// PositionedEvents follows the index of positions.
func (s *Store) PositionedEvents(
	ctx context.Context, taskID string, after protocol.Cursor, limit int,
) ([]broker.StoredEvent, error) {
	return database.Find(ctx, s.db, events, "Events of task", taskID, "WHERE "+ofTask+
		" AND epoch IS NOT NULL AND late = FALSE AND (epoch, event_seq) > (?, ?) ORDER BY epoch, event_seq LIMIT ?",
		taskID, after.Epoch, after.Seq, limit)
}

func (s *Store) AddRefused(ctx context.Context, a *broker.RefusedEvent) error {
	_, err := s.db.Exec(ctx, "Refused event", a.ID,
		`INSERT INTO audit (id, task_id, what, event_id, body, at) VALUES (?, ?, ?, ?, ?, ?)`,
		a.ID, a.TaskID, a.What, a.EventID, string(a.Body), a.At.UTC())
	return err
}
