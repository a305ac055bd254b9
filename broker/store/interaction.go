package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/protocol"
)

type interactionRow struct {
	TaskID        string
	ID            string
	TurnID        string
	State         string
	Kind          string
	Prompt        string
	ToolCallID    string
	ToolName      string
	Args          *string
	Level         string
	DefaultAnswer string
	Options       *string
	ExpiresAt     string
	Answer        *string
	CreatedAt     time.Time
	TaskTitle     string
}

func (interactionRow) TableName() string { return "interactions" }

func (r *interactionRow) interaction() (*broker.Interaction, error) {
	q := &broker.Interaction{
		ID: r.ID, TaskID: r.TaskID, TaskTitle: r.TaskTitle, TurnID: r.TurnID, State: protocol.InteractionState(r.State),
		Kind: protocol.InteractionKind(r.Kind), Prompt: r.Prompt, ToolCallID: r.ToolCallID, ToolName: r.ToolName,
		Args: rawOf(r.Args), Level: r.Level, Default: r.DefaultAnswer, ExpiresAt: r.ExpiresAt, CreatedAt: r.CreatedAt.UTC(),
	}
	for _, field := range []struct {
		raw *string
		dst any
	}{{r.Options, &q.Options}, {r.Answer, &q.Answer}} {
		if field.raw == nil {
			continue
		}
		if err := json.Unmarshal([]byte(*field.raw), field.dst); err != nil {
			return nil, fmt.Errorf("interaction %s: %w", r.ID, err)
		}
	}
	return q, nil
}

func interactions(query *gorm.DB) ([]broker.Interaction, error) {
	var rows []interactionRow
	if err := query.Select("interactions.*, tasks.title AS task_title").
		Joins("JOIN tasks ON tasks.id = interactions.task_id").Find(&rows).Error; err != nil {
		return nil, database.Fault(err, "Interactions", "")
	}
	found := make([]broker.Interaction, len(rows))
	for i := range rows {
		q, err := rows[i].interaction()
		if err != nil {
			return nil, err
		}
		found[i] = *q
	}
	return found, nil
}

// TaskInteractions implements broker.InteractionStore.
func (s *Store) TaskInteractions(ctx context.Context, taskID string, ids []string) ([]broker.Interaction, error) {
	return interactions(s.conn(ctx).Where("interactions.task_id = ? AND interactions.id IN ?", taskID, ids))
}

// OpenInteractions implements broker.InteractionStore.
func (s *Store) OpenInteractions(ctx context.Context, taskID string) ([]broker.Interaction, error) {
	return interactions(s.conn(ctx).Where("interactions.task_id = ? AND interactions.state = 'open'", taskID))
}

// Interactions implements broker.InteractionStore; newest first.
func (s *Store) Interactions(ctx context.Context, userID, state string, limit int) ([]broker.Interaction, error) {
	query := s.conn(ctx).Where("tasks.user_id = ? AND tasks.deleted_at IS NULL", userID).
		Order("interactions.created_at DESC, interactions.id DESC").Limit(limit)
	if state != "" {
		query = query.Where("interactions.state = ?", state)
	}
	return interactions(query)
}

// Interaction implements broker.InteractionStore.
func (s *Store) Interaction(ctx context.Context, userID, id string) (*broker.Interaction, error) {
	found, err := interactions(s.conn(ctx).
		Where("tasks.user_id = ? AND tasks.deleted_at IS NULL AND interactions.id = ?", userID, id).
		Order("CASE WHEN interactions.state = 'open' THEN 0 ELSE 1 END, interactions.created_at DESC").Limit(1))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, notFound("Interaction")
	}
	return &found[0], nil
}
