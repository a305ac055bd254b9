package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

var turns = table.New("turns",
	table.Text("task_id", func(t *broker.Turn) *string { return &t.TaskID }).Key(),
	table.Text("id", func(t *broker.Turn) *string { return &t.ID }).Key(),
	table.Text("message_id", func(t *broker.Turn) *string { return &t.MessageID }).Fixed(),
	table.Text("state", func(t *broker.Turn) *broker.TurnState { return &t.State }),
	table.Text("finish_reason", func(t *broker.Turn) *protocol.FinishReason { return &t.FinishReason }),
	table.Text("reason", func(t *broker.Turn) *string { return &t.Reason }),
	table.OptionalTextBytes("usage", func(t *broker.Turn) *json.RawMessage { return &t.Usage }),
	table.Time("announced_at", func(t *broker.Turn) *time.Time { return &t.AnnouncedAt }).Fixed(),
	table.OptionalTime("finished_at", func(t *broker.Turn) **time.Time { return &t.FinishedAt }),
)

func (s *Store) Turns(ctx context.Context, taskID string, ids []string) ([]broker.Turn, error) {
	return s.turns(ctx, taskID, "id IN ?", ids)
}

func (s *Store) TurnsIn(ctx context.Context, taskID string, states ...broker.TurnState) ([]broker.Turn, error) {
	condition := "state IN ?"
	if !slices.Contains(states, broker.TurnClosed) {
		condition += " AND state <> 'closed'" // the condition of the partial index
	}
	return s.turns(ctx, taskID, condition, states)
}

func (s *Store) ClosedTurns(ctx context.Context, taskID, after string, limit int) ([]broker.Turn, error) {
	return database.Find(ctx, s.db, turns, "ClosedTurns of task", taskID,
		"WHERE task_id = ? AND id > ? AND state = 'closed' ORDER BY id LIMIT ?", taskID, after, limit)
}

func (s *Store) turns(ctx context.Context, taskID, condition string, arg any) ([]broker.Turn, error) {
	return database.Find(ctx, s.db, turns, "Turns of task", taskID,
		"WHERE task_id = ? AND "+condition+" ORDER BY announced_at, id", taskID, arg)
}
