package store

import (
	"context"
	"slices"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// tasks has no secret columns; only the methods that open secrets read those.
var tasks = table.New("tasks",
	table.Text("id", func(t *broker.Task) *string { return &t.ID }).Key(),
	table.Integer("no", func(t *broker.Task) *int64 { return &t.No }).Fixed(),
	table.Text("user_id", func(t *broker.Task) *string { return &t.UserID }).Fixed(),
	table.Text("title", func(t *broker.Task) *string { return &t.Title }),
	table.Text("permission_mode", func(t *broker.Task) *protocol.PermissionMode { return &t.PermissionMode }),
	table.Text("mode", func(t *broker.Task) *protocol.TaskMode { return &t.Mode }).Fixed(),
	table.Text("agent", func(t *broker.Task) *string { return &t.Agent }),
	table.Text("project", func(t *broker.Task) *string { return &t.Project }),
	table.Text("model", func(t *broker.Task) *string { return &t.Model }),
	table.Text("workspace", func(t *broker.Task) *string { return &t.Workspace }).Fixed(),
	table.Text("branch", func(t *broker.Task) *string { return &t.Branch }),
	table.OptionalText("host_id", func(t *broker.Task) *string { return &t.HostID }),
	table.Text("agent_url", func(t *broker.Task) *string { return &t.AgentURL }),
	table.Bool("guarded", func(t *broker.Task) *bool { return &t.Guarded }),
	table.Text("agent_status", func(t *broker.Task) *protocol.Status { return &t.AgentStatus }),
	table.Text("reason", func(t *broker.Task) *string { return &t.Reason }),
	table.Text("open_turn", func(t *broker.Task) *string { return &t.OpenTurn }),
	table.JSONPointer("last_turn", nil, func(t *broker.Task) **protocol.LastTurn { return &t.LastTurn }),
	table.Integer("epoch", func(t *broker.Task) *int64 { return &t.Cursor.Epoch }),
	table.Integer("seq", func(t *broker.Task) *int64 { return &t.Cursor.Seq }),
	table.Bool("host_events", func(t *broker.Task) *bool { return &t.HostEvents }),
	table.Bool("host_signs", func(t *broker.Task) *bool { return &t.HostSigns }),
	table.Bool("host_names", func(t *broker.Task) *bool { return &t.HostNames }),
	table.Bool("host_credentials", func(t *broker.Task) *bool { return &t.HostCredentials }),
	table.Integer("rev", func(t *broker.Task) *int64 { return &t.Rev }),
	table.Integer("read_rev", func(t *broker.Task) *int64 { return &t.ReadRev }),
	table.Integer("last_seq", func(t *broker.Task) *int64 { return &t.LastSeq }),
	table.Integer("open_questions", func(t *broker.Task) *int { return &t.OpenQuestions }),
	table.Bool("archived", func(t *broker.Task) *bool { return &t.Archived }),
	table.Time("created_at", func(t *broker.Task) *time.Time { return &t.CreatedAt }).Fixed(),
	table.Time("last_activity_at", func(t *broker.Task) *time.Time { return &t.LastActivityAt }),
	table.OptionalTime("last_event_at", func(t *broker.Task) **time.Time { return &t.LastEventAt }),
	table.Time("changed_at", func(t *broker.Task) *time.Time { return &t.ChangedAt }),
	table.OptionalTime("deleted_at", func(t *broker.Task) **time.Time { return &t.DeletedAt }),
	table.Integer("queued", func(t *broker.Task) *int { return &t.Queue.Messages }),
	table.Integer("queue_rev", func(t *broker.Task) *int64 { return &t.Queue.Rev }),
	table.Text("queue_paused", func(t *broker.Task) *protocol.QueuePause { return &t.Queue.Paused }),
	table.Text("queue_reason", func(t *broker.Task) *string { return &t.Queue.Reason }),
	table.Text("queue_now", func(t *broker.Task) *string { return &t.Queue.Now }),
)

// writtenTasks adds the words of the title, which are only searched.
var writtenTasks = table.New("tasks", append(slices.Clone(tasks.Columns), titleWords)...)

var titleWords = table.Column[broker.Task]{
	Name: "words", Type: "tsvector", Value: func(t *broker.Task) any { return wordsOf(t.UserID, t.Title) },
}

type newTask struct {
	task                         *broker.Task
	agentPassword, webhookSecret []byte
}

// newTasks is tasks with the secrets of a new task, whose number the database assigns.
var newTasks = table.New("tasks", append(
	table.Lift(writtenTasks.Without("no"), func(n *newTask) *broker.Task { return n.task }),
	table.Bytes("agent_password", func(n *newTask) *[]byte { return &n.agentPassword }),
	table.Bytes("webhook_secret", func(n *newTask) *[]byte { return &n.webhookSecret }),
)...)

// CreateTask sets t.No.
func (s *Store) CreateTask(ctx context.Context, t *broker.Task) error {
	row := newTask{task: t}
	var err error
	if row.agentPassword, err = s.seal("tasks", "agent_password", t.ID, t.AgentPassword); err != nil {
		return err
	}
	if row.webhookSecret, err = s.seal("tasks", "webhook_secret", t.ID, t.WebhookSecret); err != nil {
		return err
	}
	return s.db.Write(ctx, func(ctx context.Context) error {
		if err := s.db.Run(ctx, "Task", t.ID, newTasks.Insert(row)); err != nil {
			return err
		}
		return database.Fault(s.conn(ctx).Raw(`SELECT no FROM tasks WHERE id = ?`, t.ID).Row().Scan(&t.No), "Task", t.ID)
	})
}

func (s *Store) Task(ctx context.Context, userID, id string) (*broker.Task, error) {
	return database.FindOne(ctx, s.db, tasks, "Task", id, "WHERE id = ? AND user_id = ? AND deleted_at IS NULL",
		id, userID)
}

func (s *Store) AnyTask(ctx context.Context, id string) (*broker.Task, error) {
	return database.FindOne(ctx, s.db, tasks, "Task", id, "WHERE id = ?", id)
}

// LockTask implements broker.IngestStore. SQLite needs no lock, because it runs one
// write transaction at a time. On PostgreSQL the lock does not block foreign keys
// that refer to the row.
func (s *Store) LockTask(ctx context.Context, id string) (*broker.Task, error) {
	return database.FindOne(ctx, s.db, tasks, "Task", id, "WHERE id = ?"+s.lock("FOR NO KEY UPDATE"), id)
}
