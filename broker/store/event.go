package store

import (
	"context"
	"encoding/json"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// eventRows has the columns of an event that the broker reads.
func eventRows(name, seq string) *table.Table[broker.StoredEvent] {
	return table.New(name,
		table.Text("event_id", func(e *broker.StoredEvent) *string { return &e.EventID }),
		table.Integer("COALESCE(epoch, 0)", func(e *broker.StoredEvent) *int64 { return &e.Epoch }),
		table.Integer("COALESCE("+seq+", 0)", func(e *broker.StoredEvent) *int64 { return &e.Seq }),
		table.TextBytes("body", func(e *broker.StoredEvent) *json.RawMessage { return &e.Body }),
		table.Bool("late", func(e *broker.StoredEvent) *bool { return &e.Late }),
	)
}

var (
	events    = eventRows("log", "event_seq")
	oldEvents = eventRows("old_events", "seq")
)

// KnownEvents implements broker.IngestStore.
func (s *Store) KnownEvents(ctx context.Context, taskID string, ids []string) ([]broker.StoredEvent, error) {
	old, err := whileMoving(ctx, s, func() ([]broker.StoredEvent, error) {
		return database.Find(ctx, s.db, oldEvents, "Events of task", taskID,
			"WHERE task_id = ? AND event_id IN ?", taskID, ids)
	})
	if err != nil {
		return nil, err
	}
	found, err := database.Find(ctx, s.db, events, "Events of task", taskID,
		"WHERE "+ofTask+" AND event_id IN ?", taskID, ids)
	return merged(old, found, func(a, b *broker.StoredEvent) bool { return a.EventID < b.EventID }, 0), err
}

// PositionedEvents implements broker.VerifyStore. It follows the index of positions.
func (s *Store) PositionedEvents(
	ctx context.Context, taskID string, after protocol.Cursor, limit int,
) ([]broker.StoredEvent, error) {
	const positioned = ` AND epoch IS NOT NULL AND late = FALSE AND `
	old, err := whileMoving(ctx, s, func() ([]broker.StoredEvent, error) {
		return database.Find(ctx, s.db, oldEvents, "Events of task", taskID,
			"WHERE task_id = ?"+positioned+"(epoch, seq) > (?, ?) ORDER BY epoch, seq LIMIT ?",
			taskID, after.Epoch, after.Seq, limit)
	})
	if err != nil {
		return nil, err
	}
	found, err := database.Find(ctx, s.db, events, "Events of task", taskID,
		"WHERE "+ofTask+positioned+"(epoch, event_seq) > (?, ?) ORDER BY epoch, event_seq LIMIT ?",
		taskID, after.Epoch, after.Seq, limit)
	return merged(old, found, func(a, b *broker.StoredEvent) bool {
		return protocol.Cursor{Epoch: a.Epoch, Seq: a.Seq}.Less(protocol.Cursor{Epoch: b.Epoch, Seq: b.Seq})
	}, limit), err
}

// AddRefused implements broker.IngestStore.
func (s *Store) AddRefused(ctx context.Context, a *broker.RefusedEvent) error {
	_, err := s.db.Exec(ctx, "Refused event", a.ID,
		`INSERT INTO audit (id, task_id, what, event_id, body, at) VALUES (?, ?, ?, ?, ?, ?)`,
		a.ID, a.TaskID, a.What, a.EventID, string(a.Body), a.At.UTC())
	return err
}
