package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/protocol"
)

// taskRow has no secrets: they are read by the methods that open them.
type taskRow struct {
	ID             string
	UserID         string
	Title          string
	Mode           string
	Agent          string
	Project        string
	HostID         *string
	AgentURL       string `gorm:"column:agent_url"`
	Guarded        bool
	AgentStatus    string
	Reason         string
	OpenTurn       string
	LastTurn       *string
	Epoch          int64
	Seq            int64
	HostEvents     bool
	Rev            int64
	ReadRev        int64
	LastSeq        int64
	OpenQuestions  int
	Archived       bool
	CreatedAt      time.Time
	LastActivityAt time.Time
	LastEventAt    *time.Time
	ChangedAt      time.Time
	DeletedAt      *time.Time
}

func (taskRow) TableName() string { return "tasks" }

// newTaskRow is a task at its creation.
type newTaskRow struct {
	Row           taskRow `gorm:"embedded"`
	AgentPassword []byte
	WebhookSecret []byte
}

func (newTaskRow) TableName() string { return "tasks" }

func (r *taskRow) task() (*broker.Task, error) {
	t := &broker.Task{
		ID: r.ID, UserID: r.UserID, Title: r.Title, Mode: protocol.TaskMode(r.Mode), Agent: r.Agent, Project: r.Project,
		AgentURL: r.AgentURL, Guarded: r.Guarded, AgentStatus: protocol.Status(r.AgentStatus), Reason: r.Reason,
		OpenTurn: r.OpenTurn, Cursor: protocol.Cursor{Epoch: r.Epoch, Seq: r.Seq}, HostEvents: r.HostEvents,
		Rev: r.Rev, ReadRev: r.ReadRev, LastSeq: r.LastSeq, OpenQuestions: r.OpenQuestions, Archived: r.Archived,
		CreatedAt: r.CreatedAt.UTC(), LastActivityAt: r.LastActivityAt.UTC(), LastEventAt: utc(r.LastEventAt),
		ChangedAt: r.ChangedAt.UTC(), DeletedAt: utc(r.DeletedAt),
	}
	if r.HostID != nil {
		t.HostID = *r.HostID
	}
	if r.LastTurn != nil {
		if err := json.Unmarshal([]byte(*r.LastTurn), &t.LastTurn); err != nil {
			return nil, fmt.Errorf("task %s: last turn: %w", r.ID, err)
		}
	}
	return t, nil
}

func newTask(t *broker.Task) (*taskRow, error) {
	lastTurn, err := optionalJSON(t.LastTurn, t.LastTurn != nil)
	if err != nil {
		return nil, fmt.Errorf("task %s: last turn: %w", t.ID, err)
	}
	return &taskRow{
		ID: t.ID, UserID: t.UserID, Title: t.Title, Mode: string(t.Mode), Agent: t.Agent, Project: t.Project,
		HostID: orNull(t.HostID), AgentURL: t.AgentURL, Guarded: t.Guarded, AgentStatus: string(t.AgentStatus),
		Reason: t.Reason, OpenTurn: t.OpenTurn, LastTurn: lastTurn, Epoch: t.Cursor.Epoch, Seq: t.Cursor.Seq,
		HostEvents: t.HostEvents, Rev: t.Rev, ReadRev: t.ReadRev, LastSeq: t.LastSeq, OpenQuestions: t.OpenQuestions,
		Archived: t.Archived, CreatedAt: t.CreatedAt.UTC(), LastActivityAt: t.LastActivityAt.UTC(),
		LastEventAt: utc(t.LastEventAt), ChangedAt: t.ChangedAt.UTC(), DeletedAt: utc(t.DeletedAt),
	}, nil
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// CreateTask implements broker.TaskStore.
func (s *Store) CreateTask(ctx context.Context, t *broker.Task) error {
	base, err := newTask(t)
	if err != nil {
		return err
	}
	row := newTaskRow{Row: *base}
	if row.AgentPassword, err = s.seal("tasks", "agent_password", t.ID, t.AgentPassword); err != nil {
		return err
	}
	if row.WebhookSecret, err = s.seal("tasks", "webhook_secret", t.ID, t.WebhookSecret); err != nil {
		return err
	}
	_, err = s.exec(ctx, "Task", t.ID, func(db *gorm.DB) *gorm.DB { return db.Create(&row) })
	return err
}

// Task implements broker.TaskStore.
func (s *Store) Task(ctx context.Context, userID, id string) (*broker.Task, error) {
	return findTask(s.conn(ctx).Where("id = ? AND user_id = ? AND deleted_at IS NULL", id, userID), id)
}

// AnyTask implements broker.TaskStore.
func (s *Store) AnyTask(ctx context.Context, id string) (*broker.Task, error) {
	return findTask(s.conn(ctx).Where("id = ?", id), id)
}

// LockTask implements broker.TaskStore. A write transaction of SQLite is the
// only one anyway. On PostgreSQL the lock leaves foreign keys to the row alone.
func (s *Store) LockTask(ctx context.Context, id string) (*broker.Task, error) {
	query := s.conn(ctx).Where("id = ?", id)
	if s.postgres() {
		query = query.Clauses(clause.Locking{Strength: "NO KEY UPDATE"})
	}
	return findTask(query, id)
}

func findTask(query *gorm.DB, id string) (*broker.Task, error) {
	var row taskRow
	if err := query.Select(taskColumns).Take(&row).Error; err != nil {
		return nil, database.Fault(err, "Task", id)
	}
	return row.task()
}

var taskColumns = []string{
	"id", "user_id", "title", "mode", "agent", "project", "host_id", "agent_url", "guarded", "agent_status", "reason",
	"open_turn", "last_turn", "epoch", "seq", "host_events", "rev", "read_rev", "last_seq", "open_questions", "archived",
	"created_at", "last_activity_at", "last_event_at", "changed_at", "deleted_at",
}

// Tasks implements broker.TaskStore.
func (s *Store) Tasks(ctx context.Context, userID string, f broker.TaskFilter) ([]broker.Task, error) {
	query := s.conn(ctx).Model(&taskRow{}).Select(taskColumns).Where("user_id = ? AND deleted_at IS NULL", userID)
	if f.Archived != nil {
		query = query.Where("archived = ?", *f.Archived)
	}
	if f.Before != nil {
		at := f.Before.At.UTC()
		query = query.Where("(last_activity_at < ? OR (last_activity_at = ? AND id < ?))", at, at, f.Before.ID)
	}
	query = query.Order("last_activity_at DESC, id DESC")
	if f.Q == "" {
		query = query.Limit(f.Limit)
	}
	var tasks []broker.Task
	// SQLite's lower() knows ASCII only, so titles are compared here.
	wanted := fold(f.Q)
	var rows []taskRow
	if err := query.Find(&rows).Error; err != nil {
		return nil, database.Fault(err, "Tasks of user", userID)
	}
	for i := range rows {
		if len(tasks) == f.Limit {
			break
		}
		if !strings.Contains(fold(rows[i].Title), wanted) {
			continue
		}
		task, err := rows[i].task()
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, *task)
	}
	return tasks, nil
}

// fold makes titles that differ in case only equal.
func fold(s string) string { return strings.ToLower(strings.ToUpper(s)) }
