package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

var messages = table.New("messages",
	table.Text("task_id", func(m *broker.Message) *string { return &m.TaskID }).Key(),
	table.Text("id", func(m *broker.Message) *string { return &m.ID }).Key(),
	table.Integer("seq", func(m *broker.Message) *int64 { return &m.Seq }).Fixed(),
	table.Integer("rev", func(m *broker.Message) *int64 { return &m.Rev }),
	table.Text("turn_id", func(m *broker.Message) *string { return &m.TurnID }),
	table.Text("role", func(m *broker.Message) *protocol.Role { return &m.Role }).Fixed(),
	table.Text("status", func(m *broker.Message) *protocol.MessageStatus { return &m.Status }),
	table.Text("message", func(m *broker.Message) *string { return &m.Message.Message }).Fixed(),
	table.JSONList("artifacts", "[]", func(m *broker.Message) *[]protocol.Artifact { return &m.Artifacts }),
	table.Text("event_id", func(m *broker.Message) *string { return &m.EventID }).Fixed(),
	table.OptionalText("tool_call_id", func(m *broker.Message) *string { return &m.ToolCallID }).Fixed(),
	table.Text("phase", func(m *broker.Message) *broker.ToolPhase { return &m.Phase }),
	table.Text("body_hash", func(m *broker.Message) *string { return &m.BodyHash }).Fixed(),
	table.Time("created_at", func(m *broker.Message) *time.Time { return &m.CreatedAt }).Fixed(),
)

// messages reads the messages of a task that meet a condition, which may end with ORDER BY.
func (s *Store) messages(ctx context.Context, taskID, condition string, args ...any) ([]broker.Message, error) {
	return database.Find(ctx, s.db, messages, "Messages of task", taskID,
		"WHERE task_id = ? AND "+condition, append([]any{taskID}, args...)...)
}

func (s *Store) oneMessage(ctx context.Context, taskID, condition string, args ...any) (*broker.Message, error) {
	return database.FindOne(ctx, s.db, messages, "Message", taskID,
		"WHERE task_id = ? AND "+condition+" LIMIT 1", append([]any{taskID}, args...)...)
}

// Message implements broker.SessionStore.
func (s *Store) Message(ctx context.Context, taskID, id string) (*broker.Message, error) {
	return s.oneMessage(ctx, taskID, "id = ?", id)
}

// TurnMessage implements broker.UpdateStore.
func (s *Store) TurnMessage(ctx context.Context, taskID, turnID string) (*broker.Message, error) {
	return s.oneMessage(ctx, taskID, "turn_id = ? AND role = 'USER'", turnID)
}

// LastWithHash implements broker.SessionStore. Such messages are rare and not
// indexed: the search begins at the newest.
func (s *Store) LastWithHash(ctx context.Context, taskID, prefix string) (*broker.Message, error) {
	return s.oneMessage(ctx, taskID, "substr(body_hash, 1, ?) = ? ORDER BY seq DESC", len(prefix), prefix)
}

// Messages implements broker.TaskStore.
func (s *Store) Messages(ctx context.Context, taskID string, q broker.MessageQuery) ([]broker.Message, error) {
	var condition strings.Builder
	var args []any
	for _, bound := range []struct {
		condition string
		value     *int64
	}{{"seq > ?", q.After}, {"seq < ?", q.Before}, {"rev > ?", q.Since}} {
		if bound.value != nil {
			condition.WriteString(bound.condition + " AND ")
			args = append(args, *bound.value)
		}
	}
	condition.WriteString("TRUE ORDER BY seq")
	newestFirst := q.Before != nil && q.After == nil
	if newestFirst {
		condition.WriteString(" DESC")
	}
	found, err := s.messages(ctx, taskID, condition.String()+" LIMIT ?", append(args, q.Limit)...)
	if newestFirst {
		slices.Reverse(found)
	}
	return found, err
}

// MessagesByID implements broker.FeedStore.
func (s *Store) MessagesByID(ctx context.Context, taskID string, ids []string) ([]broker.Message, error) {
	return s.messages(ctx, taskID, "id IN ? ORDER BY seq", ids)
}

// ToolMessages implements broker.UpdateStore.
func (s *Store) ToolMessages(ctx context.Context, taskID string, toolCallIDs []string) ([]broker.Message, error) {
	return s.messages(ctx, taskID, "tool_call_id IN ? ORDER BY seq", toolCallIDs)
}

// RunningTools implements broker.UpdateStore. The rows of a turn come after its
// user's message, so only those are read.
func (s *Store) RunningTools(ctx context.Context, taskID, turnID string) ([]broker.Message, error) {
	const after = `COALESCE((SELECT max(seq) FROM messages WHERE task_id = ? AND turn_id = ? AND role = 'USER'), 0)`
	return s.messages(ctx, taskID, "seq > "+after+" AND turn_id = ? AND phase = ? ORDER BY seq", taskID, turnID, turnID, string(broker.PhaseCall))
}

// StuckMessages implements broker.MaintenanceStore. For a message that was checked
// in again, the time counts from the announcement of its last turn.
func (s *Store) StuckMessages(ctx context.Context, before time.Time, limit int) ([]broker.StuckMessage, error) {
	var stuck []broker.StuckMessage
	err := s.conn(ctx).Raw(`SELECT messages.task_id AS task_id, messages.id AS message_id
		FROM messages JOIN turns ON turns.task_id = messages.task_id AND turns.id = messages.turn_id
		JOIN tasks ON tasks.id = messages.task_id
		WHERE messages.status = 'SENDING' AND turns.announced_at <= ? AND tasks.deleted_at IS NULL
		ORDER BY messages.created_at LIMIT ?`, before.UTC(), limit).Scan(&stuck).Error
	return stuck, database.Fault(err, "Messages", "")
}
