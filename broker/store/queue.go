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

const queueOf = "Queue of task"

// queued lacks the attachments, which may have megabytes.
var queued = table.New("queued_messages",
	table.Text("task_id", func(m *broker.QueuedMessage) *string { return &m.TaskID }).Key(),
	table.Text("id", func(m *broker.QueuedMessage) *string { return &m.ID }).Key(),
	table.Integer("position", func(m *broker.QueuedMessage) *int64 { return &m.Position }),
	table.Text("message", func(m *broker.QueuedMessage) *string { return &m.Message }),
	table.JSONList("artifacts", "[]",
		func(m *broker.QueuedMessage) *[]protocol.ArtifactInput { return &m.Artifacts }).Fixed(),
	table.JSONList("files", "[]", func(m *broker.QueuedMessage) *[]protocol.QueuedAttachment { return &m.Files }).Fixed(),
	table.Integer("bytes", func(m *broker.QueuedMessage) *int { return &m.Bytes }),
	table.Text("hash", func(m *broker.QueuedMessage) *string { return &m.Hash }).Fixed(),
	table.Text("state", func(m *broker.QueuedMessage) *broker.QueuedState { return &m.State }),
	table.Integer("turn", func(m *broker.QueuedMessage) *int { return &m.Turn }),
	table.Text("turn_id", func(m *broker.QueuedMessage) *string { return &m.TurnID }),
	table.Text("place", func(m *broker.QueuedMessage) *string { return &m.Place }),
	table.Integer("attempts", func(m *broker.QueuedMessage) *int { return &m.Attempts }),
	table.Text("failure", func(m *broker.QueuedMessage) *string { return &m.Failure }),
	table.Time("due_at", func(m *broker.QueuedMessage) *time.Time { return &m.DueAt }),
	table.Time("created_at", func(m *broker.QueuedMessage) *time.Time { return &m.CreatedAt }).Fixed(),
)

type newQueued struct {
	message     *broker.QueuedMessage
	attachments string
}

var newQueuedMessages = table.New("queued_messages", append(
	table.Lift(queued.Columns, func(n *newQueued) *broker.QueuedMessage { return n.message }),
	table.Text("attachments", func(n *newQueued) *string { return &n.attachments }),
)...)

func (s *Store) Queued(ctx context.Context, taskID string) ([]broker.QueuedMessage, error) {
	return database.Find(ctx, s.db, queued, queueOf, taskID, "WHERE task_id = ? ORDER BY position, id", taskID)
}

func (s *Store) AddQueued(ctx context.Context, m *broker.QueuedMessage, attachments []protocol.Attachment) error {
	encoded, err := json.Marshal(attachments)
	if err != nil {
		return err
	}
	return s.db.Run(ctx, "Queued message", m.ID, newQueuedMessages.Insert(newQueued{m, string(encoded)}))
}

func (s *Store) QueuedAttachments(ctx context.Context, taskID, id string) (list []protocol.Attachment, err error) {
	var encoded []string
	const find = `SELECT attachments FROM queued_messages WHERE task_id = ? AND id = ?`
	err = s.conn(ctx).Raw(find, taskID, id).Scan(&encoded).Error
	if err != nil || len(encoded) == 0 {
		return nil, database.Fault(err, "Queued message", id)
	}
	return list, json.Unmarshal([]byte(encoded[0]), &list)
}

func (s *Store) SaveQueued(ctx context.Context, m *broker.QueuedMessage) error {
	return s.db.Run(ctx, "Queued message", m.ID, queued.Update(m))
}

func (s *Store) RemoveQueued(ctx context.Context, taskID, id string) error {
	_, err := s.db.Exec(ctx, "Queued message", id, `DELETE FROM queued_messages WHERE task_id = ? AND id = ?`, taskID, id)
	return err
}

func (s *Store) ClearQueue(ctx context.Context, taskID string) error {
	_, err := s.db.Exec(ctx, queueOf, taskID, `DELETE FROM queued_messages WHERE task_id = ?`, taskID)
	return err
}

// WithheldQueues implements broker.QueueStore. Few tasks have this pause, and an index has them.
func (s *Store) WithheldQueues(ctx context.Context, limit int) (ids []string, err error) {
	err = s.conn(ctx).Raw(`SELECT t.id FROM tasks t JOIN users u ON u.id = t.user_id
		WHERE t.queue_paused = 'user-disabled' AND t.deleted_at IS NULL AND u.disabled_at IS NULL AND u.deleted_at IS NULL
		ORDER BY t.id LIMIT ?`, limit).Scan(&ids).Error
	return ids, database.Fault(err, "Withheld queues", "")
}

// DueQueues implements broker.QueueStore. A task's next message has the lowest position.
// A message that an attempt has claimed is due whatever the task does, to find out its outcome.
func (s *Store) DueQueues(
	ctx context.Context, now time.Time, skip []string, limit int,
) ([]broker.DueTask, error) {
	const host = `COALESCE(t.host_id, t.agent_url, '')`
	others, args := "", []any{now.UTC()}
	if len(skip) > 0 {
		others, args = ` AND `+host+` NOT IN ?`, append(args, skip)
	}
	var due []broker.DueTask
	err := s.conn(ctx).Raw(`SELECT t.id AS id, `+host+` AS host
		FROM queued_messages q JOIN tasks t ON t.id = q.task_id
		WHERE q.due_at <= ? AND t.deleted_at IS NULL`+others+`
			AND NOT EXISTS (SELECT 1 FROM queued_messages b WHERE b.task_id = q.task_id AND
				(b.position < q.position OR b.position = q.position AND b.id < q.id))
			AND (q.state <> 'waiting' OR t.queue_paused = '' AND t.archived = FALSE AND NOT EXISTS (
				SELECT 1 FROM turns WHERE turns.task_id = q.task_id AND turns.state <> 'closed' AND turns.id <> q.turn_id))
		ORDER BY q.due_at, t.id LIMIT ?`, append(args, limit)...).Scan(&due).Error
	return due, database.Fault(err, "Due queues", "")
}
