package store

import (
	"context"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// positionedEvents has the columns that identify an event and its content.
var positionedEvents = table.New("events", append(events.Pick("task_id", "event_id", "digest"),
	table.Integer("epoch", func(e *broker.StoredEvent) *int64 { return &e.Epoch }),
	table.Integer("seq", func(e *broker.StoredEvent) *int64 { return &e.Seq }))...)

// PositionedEvents implements broker.VerifyStore. It follows the index of positions.
func (s *Store) PositionedEvents(ctx context.Context, taskID string, after protocol.Cursor, limit int) ([]broker.StoredEvent, error) {
	return database.Find(ctx, s.db, positionedEvents, "Events of task", taskID,
		`WHERE task_id = ? AND epoch IS NOT NULL AND late = FALSE AND (epoch, seq) > (?, ?) ORDER BY epoch, seq LIMIT ?`,
		taskID, after.Epoch, after.Seq, limit)
}

// textMessages has the columns of a message that a text event leaves.
var textMessages = table.New("messages", messages.Pick("seq", "event_id", "message")...)

// Texts implements broker.VerifyStore.
func (s *Store) Texts(ctx context.Context, taskID string, after int64, limit int) ([]broker.Message, error) {
	return database.Find(ctx, s.db, textMessages, "Messages of task", taskID,
		`WHERE task_id = ? AND seq > ? AND event_id <> '' AND message <> '' ORDER BY seq LIMIT ?`, taskID, after, limit)
}
