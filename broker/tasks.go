package broker

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"bellhop/crypto/seal"
	"bellhop/crypto/token"
	"bellhop/protocol"
)

// Tasks creates, lists, changes and deletes a user's tasks. Another user's task is
// CodeNotFound.
type Tasks struct {
	Store        TaskStore
	Updater      *Updater
	Ends         *SessionEnds
	Reconciler   *Reconciler               // woken while a reader waits for rows; may be nil
	Offers       *Offers                   // of hosts, for tasks that name none; nil: every host suits
	DefaultAgent string                    // for tasks created without agent, host and URL
	CheckURL     func(rawURL string) error // the outbound guard for a non-administrator's agentUrl; may be nil
	Quotas       *Quotas                   // of users; may be nil
	Workspaces   *Workspaces               // that tasks can name; may be nil
	Now          func() time.Time
	Log          *slog.Logger
}

// TaskStore is the part of the store that Tasks needs. Reads leave a task's secrets
// sealed.
type TaskStore interface {
	TranscriptStore
	CreateTask(ctx context.Context, t *Task) error
	Tasks(ctx context.Context, userID string, f TaskFilter) ([]Task, error)
	// SetTaskPassword keeps the previous password until previousUntil.
	SetTaskPassword(ctx context.Context, id string, password seal.Secret, previousUntil time.Time) error
	// ClosedTurns returns a page of a task's closed turns, by id, those behind after.
	ClosedTurns(ctx context.Context, taskID, after string, limit int) ([]Turn, error)
	Host(ctx context.Context, id string) (*Host, error)
	Hosts(ctx context.Context) ([]Host, error)
	// ClearQueue removes a task's queued messages.
	ClearQueue(ctx context.Context, taskID string) error
	// DeleteShares ends the share links of a task.
	DeleteShares(ctx context.Context, taskID string) error
	// TasksOfUser returns the ids of a user's tasks that are not deleted, by id, those behind after.
	TasksOfUser(ctx context.Context, userID, after string, limit int) ([]string, error)
}

// TaskFilter selects a page of a user's tasks, newest activity first.
type TaskFilter struct {
	Before   *TaskPosition
	Limit    int
	Q        string
	Archived *bool
	State    TaskState // "" = any
}

// TaskPosition is a position in the list of tasks.
type TaskPosition struct {
	At time.Time
	ID string
}

// TaskQuery selects a page of tasks. Cursor is a TaskList's NextCursor.
type TaskQuery struct {
	Cursor   string
	Limit    int
	Q        string // words of the title or of messages
	Archived *bool
	State    TaskState // "" = any
}

// TaskState is what a task is waiting for, as far as lists of tasks are filtered by it. The database derives it from
// the columns of the task.
type TaskState string

// The states. A task whose turn ended without a failure has none of them.
const (
	TaskWaiting TaskState = "waiting" // for the user's answer to a question
	TaskWorking TaskState = "working" // its turn is open
	TaskFailed  TaskState = "failed"  // its last turn failed
)

func (s TaskState) check() error {
	switch s {
	case "", TaskWaiting, TaskWorking, TaskFailed:
		return nil
	default:
		return protocol.Errorf(protocol.CodeInvalid, "state must be waiting, working or failed")
	}
}

// Limits of lists and of the names in a task.
const (
	defaultLimit = 50
	maxLimit     = 500
	maxTitle     = 500
	maxName      = 200 // agent, project, model
)

// clamp applies the default and the maximum to a requested limit.
func clamp(limit int) int {
	if limit <= 0 {
		return defaultLimit
	}
	return min(limit, maxLimit)
}

// Create makes a task. Without host and URL the task gets a reachable registered host
// that offers its agent and project; if none is reachable, the first check-in tries again.
func (s *Tasks) Create(ctx context.Context, caller Caller, req *protocol.CreateTaskRequest) (*protocol.Task, error) {
	now := nowUTC(s.Now)
	task := &Task{
		ID: protocol.NewID(), UserID: caller.UserID, Title: strings.TrimSpace(req.Title), Mode: req.Mode,
		PermissionMode: req.PermissionMode, Branch: req.Branch,
		Agent: req.Agent, Project: req.Project, Model: req.Model, AgentPassword: seal.NewSecret(req.AgentPassword),
		WebhookSecret: seal.NewSecret(token.NewSecretHex()), AgentStatus: protocol.StatusNone,
		CreatedAt: now, LastActivityAt: now, ChangedAt: now,
	}
	if task.Mode == "" {
		task.Mode = protocol.ModeAgent
	}
	if task.Agent == "" && req.HostID == "" && req.AgentURL == "" {
		task.Agent = s.DefaultAgent
	}
	if err := errors.Join(checkTask(task), checkBranch(task, req.Workspace)); err != nil {
		return nil, err
	}
	if err := s.setPlace(ctx, caller, task, req.HostID, req.AgentURL); err != nil {
		return nil, err
	}
	if task.HostID != "" {
		if err := s.Offers.check(ctx, task.HostID, task); err != nil {
			return nil, err
		}
	}
	if err := s.setWorkspace(ctx, task, req.Workspace); err != nil {
		return nil, err
	}
	if task.HostID == "" && task.AgentURL == "" && task.Mode == protocol.ModeAgent {
		var err error
		if task.HostID, err = pickHost(ctx, s.Store, s.Offers, task); err != nil {
			return nil, err
		}
	}
	if err := s.Quotas.allowTask(ctx, task.UserID); err != nil {
		return nil, err
	}
	if err := s.Store.CreateTask(ctx, task); err != nil {
		return nil, err
	}
	s.Updater.notify(task)
	return task.View(), nil
}

func checkTask(t *Task) error {
	switch {
	case t.Title == "":
		return protocol.Errorf(protocol.CodeInvalid, "title is required")
	case utf8.RuneCountInString(t.Title) > maxTitle:
		return protocol.Errorf(protocol.CodeInvalid, "title is longer than %d characters", maxTitle)
	case utf8.RuneCountInString(t.Agent) > maxName:
		return protocol.Errorf(protocol.CodeInvalid, "agent is longer than %d characters", maxName)
	case utf8.RuneCountInString(t.Project) > maxName:
		return protocol.Errorf(protocol.CodeInvalid, "project is longer than %d characters", maxName)
	case utf8.RuneCountInString(t.Model) > maxName:
		return protocol.Errorf(protocol.CodeInvalid, "model is longer than %d characters", maxName)
	case t.Mode != protocol.ModeAgent && t.Mode != protocol.ModeChat:
		return protocol.Errorf(protocol.CodeInvalid, "mode must be agent or chat")
	}
	return t.PermissionMode.Check()
}

// List returns a page of the user's tasks, newest activity first.
func (s *Tasks) List(ctx context.Context, userID string, q TaskQuery) (*protocol.TaskList, error) {
	limit := clamp(q.Limit)
	filter := TaskFilter{Limit: limit + 1, Q: q.Q, Archived: q.Archived, State: q.State}
	if err := q.State.check(); err != nil {
		return nil, err
	}
	if q.Cursor != "" {
		position, err := parsePosition(q.Cursor)
		if err != nil {
			return nil, err
		}
		filter.Before = position
	}
	tasks, err := s.Store.Tasks(ctx, userID, filter)
	if err != nil {
		return nil, err
	}
	list := &protocol.TaskList{Tasks: []protocol.Task{}}
	for i := range tasks[:min(limit, len(tasks))] {
		list.Tasks = append(list.Tasks, *tasks[i].View())
	}
	if len(tasks) > limit {
		last := tasks[limit-1]
		list.NextCursor = TaskPosition{At: last.LastActivityAt, ID: last.ID}.String()
	}
	return list, nil
}

// String returns the opaque form.
func (p TaskPosition) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.At.UTC().Format(time.RFC3339Nano) + " " + p.ID))
}

func parsePosition(s string) (*TaskPosition, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	when, id, ok := strings.Cut(string(raw), " ")
	t, timeErr := time.Parse(time.RFC3339Nano, when)
	if err != nil || !ok || timeErr != nil || !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return nil, protocol.Errorf(protocol.CodeInvalid, "cursor is not one of ours")
	}
	return &TaskPosition{At: t, ID: id}, nil
}

// Get returns one task.
func (s *Tasks) Get(ctx context.Context, userID, id string, a Await) (*protocol.Task, error) {
	if _, err := s.await(ctx, userID, id, a); err != nil {
		return nil, err
	}
	task, err := s.Store.Task(ctx, userID, id)
	if err != nil {
		return nil, err
	}
	return task.View(), nil
}
