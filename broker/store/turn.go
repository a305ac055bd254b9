package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"gorm.io/gorm"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/protocol"
)

type turnRow struct {
	TaskID       string
	ID           string
	MessageID    string
	State        string
	FinishReason string
	Reason       string
	Usage        *string
	AnnouncedAt  time.Time
	FinishedAt   *time.Time
}

func (turnRow) TableName() string { return "turns" }

func (r *turnRow) turn() broker.Turn {
	return broker.Turn{
		ID: r.ID, TaskID: r.TaskID, MessageID: r.MessageID, State: broker.TurnState(r.State),
		FinishReason: protocol.FinishReason(r.FinishReason), Reason: r.Reason, Usage: rawOf(r.Usage),
		AnnouncedAt: r.AnnouncedAt.UTC(), FinishedAt: utc(r.FinishedAt),
	}
}

func rawOf(s *string) json.RawMessage {
	if s == nil {
		return nil
	}
	return json.RawMessage(*s)
}

// Turns implements broker.TurnStore.
func (s *Store) Turns(ctx context.Context, taskID string, ids []string) ([]broker.Turn, error) {
	return turns(s.conn(ctx).Where("id IN ?", ids), taskID)
}

// TurnsIn implements broker.TurnStore.
func (s *Store) TurnsIn(ctx context.Context, taskID string, states ...broker.TurnState) ([]broker.Turn, error) {
	query := s.conn(ctx).Where("state IN ?", states)
	if !slices.Contains(states, broker.TurnClosed) {
		query = query.Where("state <> 'closed'") // as the index says it
	}
	return turns(query, taskID)
}

func turns(query *gorm.DB, taskID string) ([]broker.Turn, error) {
	var rows []turnRow
	if err := query.Where("task_id = ?", taskID).Order("announced_at, id").Find(&rows).Error; err != nil {
		return nil, database.Fault(err, "Turns of task", taskID)
	}
	found := make([]broker.Turn, len(rows))
	for i := range rows {
		found[i] = rows[i].turn()
	}
	return found, nil
}
