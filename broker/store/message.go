package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/protocol"
)

type messageRow struct {
	TaskID     string
	ID         string
	Seq        int64
	Rev        int64
	TurnID     string
	Role       string
	Status     string
	Message    string
	Artifacts  string
	EventID    string
	ToolCallID *string
	Phase      string
	BodyHash   string
	CreatedAt  time.Time
}

func (messageRow) TableName() string { return "messages" }

func (r *messageRow) message() (*broker.Message, error) {
	m := &broker.Message{
		Message: protocol.Message{
			ID: r.ID, Seq: r.Seq, Rev: r.Rev, TaskID: r.TaskID, TurnID: r.TurnID, Role: protocol.Role(r.Role),
			Status: protocol.MessageStatus(r.Status), Message: r.Message, EventID: r.EventID, CreatedAt: r.CreatedAt.UTC(),
		},
		Phase: broker.ToolPhase(r.Phase), BodyHash: r.BodyHash,
	}
	if r.ToolCallID != nil {
		m.ToolCallID = *r.ToolCallID
	}
	if err := json.Unmarshal([]byte(r.Artifacts), &m.Artifacts); err != nil {
		return nil, fmt.Errorf("message %s: artifacts: %w", r.ID, err)
	}
	return m, nil
}

func artifactsJSON(m *broker.Message) (string, error) {
	if len(m.Artifacts) == 0 {
		return "[]", nil
	}
	raw, err := toJSON(m.Artifacts)
	if err != nil {
		return "", fmt.Errorf("message %s: artifacts: %w", m.ID, err)
	}
	return raw, nil
}

func messages(query *gorm.DB, taskID string) ([]broker.Message, error) {
	var rows []messageRow
	if err := query.Where("task_id = ?", taskID).Find(&rows).Error; err != nil {
		return nil, database.Fault(err, "Messages of task", taskID)
	}
	found := make([]broker.Message, len(rows))
	for i := range rows {
		m, err := rows[i].message()
		if err != nil {
			return nil, err
		}
		found[i] = *m
	}
	return found, nil
}

func oneMessage(query *gorm.DB, taskID string) (*broker.Message, error) {
	found, err := messages(query.Limit(1), taskID)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, notFound("Message")
	}
	return &found[0], nil
}

// Message implements broker.MessageStore.
func (s *Store) Message(ctx context.Context, taskID, id string) (*broker.Message, error) {
	return oneMessage(s.conn(ctx).Where("id = ?", id), taskID)
}

// TurnMessage implements broker.MessageStore.
func (s *Store) TurnMessage(ctx context.Context, taskID, turnID string) (*broker.Message, error) {
	return oneMessage(s.conn(ctx).Where("turn_id = ? AND role = 'USER'", turnID), taskID)
}

// LastWithHash implements broker.MessageStore. There are few such messages and
// no index of them: the newest are looked at first.
func (s *Store) LastWithHash(ctx context.Context, taskID, prefix string) (*broker.Message, error) {
	return oneMessage(s.conn(ctx).Where("substr(body_hash, 1, ?) = ?", len(prefix), prefix).Order("seq DESC"), taskID)
}

// Messages implements broker.MessageStore.
func (s *Store) Messages(ctx context.Context, taskID string, q broker.MessageQuery) ([]broker.Message, error) {
	query := s.conn(ctx).Limit(q.Limit)
	if q.After != nil {
		query = query.Where("seq > ?", *q.After)
	}
	if q.Before != nil {
		query = query.Where("seq < ?", *q.Before)
	}
	if q.Since != nil {
		query = query.Where("rev > ?", *q.Since)
	}
	if q.Before == nil || q.After != nil {
		return messages(query.Order("seq"), taskID)
	}
	found, err := messages(query.Order("seq DESC"), taskID)
	slices.Reverse(found)
	return found, err
}

// MessagesByID implements broker.MessageStore.
func (s *Store) MessagesByID(ctx context.Context, taskID string, ids []string) ([]broker.Message, error) {
	return messages(s.conn(ctx).Where("id IN ?", ids).Order("seq"), taskID)
}

// ToolMessages implements broker.MessageStore.
func (s *Store) ToolMessages(ctx context.Context, taskID string, toolCallIDs []string) ([]broker.Message, error) {
	return messages(s.conn(ctx).Where("tool_call_id IN ?", toolCallIDs).Order("seq"), taskID)
}

// StuckMessages implements broker.MessageStore. A message that is checked in
// again is SENDING since its turn was announced.
func (s *Store) StuckMessages(ctx context.Context, before time.Time, limit int) ([]broker.StuckMessage, error) {
	var stuck []broker.StuckMessage
	err := s.conn(ctx).Raw(`SELECT messages.task_id AS task_id, messages.id AS message_id
		FROM messages JOIN turns ON turns.task_id = messages.task_id AND turns.id = messages.turn_id
		JOIN tasks ON tasks.id = messages.task_id
		WHERE messages.status = 'SENDING' AND turns.announced_at <= ? AND tasks.deleted_at IS NULL
		ORDER BY messages.created_at LIMIT ?`, before.UTC(), limit).Scan(&stuck).Error
	return stuck, database.Fault(err, "Messages", "")
}
