package store

import (
	"context"
	"encoding/json"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

var events = table.New("events",
	table.Text("task_id", func(e *broker.StoredEvent) *string { return &e.TaskID }).Key(),
	table.Text("event_id", func(e *broker.StoredEvent) *string { return &e.EventID }).Key(),
	position("epoch", func(e *broker.StoredEvent) *int64 { return &e.Epoch }),
	position("seq", func(e *broker.StoredEvent) *int64 { return &e.Seq }),
	table.Text("turn_id", func(e *broker.StoredEvent) *string { return &e.TurnID }),
	table.Text("type", func(e *broker.StoredEvent) *protocol.EventType { return &e.Type }),
	table.TextBytes("body", func(e *broker.StoredEvent) *json.RawMessage { return &e.Body }),
	table.Text("digest", func(e *broker.StoredEvent) *string { return &e.Digest }),
	table.Bool("late", func(e *broker.StoredEvent) *bool { return &e.Late }),
	table.Time("received_at", func(e *broker.StoredEvent) *time.Time { return &e.ReceivedAt }),
)

// position is NULL for an event without a position. Positions are not read.
func position(name string, field func(*broker.StoredEvent) *int64) table.Column[broker.StoredEvent] {
	c := table.Integer(name, field)
	c.Value = func(e *broker.StoredEvent) any {
		if e.Epoch > 0 {
			return *field(e)
		}
		return nil
	}
	return c
}

// knownEvents has the columns that distinguish a repeated event from a conflicting one.
// An event of a basic host has the position 0/0 there.
var knownEvents = table.New("events", append(events.Pick("task_id", "event_id", "digest", "late"),
	table.Integer("COALESCE(epoch, 0)", func(e *broker.StoredEvent) *int64 { return &e.Epoch }),
	table.Integer("COALESCE(seq, 0)", func(e *broker.StoredEvent) *int64 { return &e.Seq }))...)

// movedEvents has the columns that change when an event gets a new position.
var movedEvents = table.New("events", events.Pick("task_id", "event_id", "epoch", "seq", "body", "digest", "late")...)

// KnownEvents implements broker.IngestStore. Bodies are not read.
func (s *Store) KnownEvents(ctx context.Context, taskID string, ids []string) ([]broker.StoredEvent, error) {
	return database.Find(ctx, s.db, knownEvents, "Events of task", taskID, "WHERE task_id = ? AND event_id IN ?", taskID, ids)
}

// Audit implements broker.IngestStore.
func (s *Store) Audit(ctx context.Context, a *broker.AuditEntry) error {
	_, err := s.db.Exec(ctx, "Audit entry", a.ID, `INSERT INTO audit (id, task_id, what, event_id, body, at) VALUES (?, ?, ?, ?, ?, ?)`,
		a.ID, a.TaskID, a.What, a.EventID, string(a.Body), a.At.UTC())
	return err
}
