package broker

import (
	"context"
	"log/slog"
	"time"

	"bellhop/protocol"
)

// Tasks is what users do with tasks. Another user's task is CodeNotFound.
type Tasks struct {
	Store        Store
	Link         Link
	Notifier     Notifier
	DefaultAgent string                    // of tasks made without agent, host and URL
	CheckURL     func(rawURL string) error // the outbound guard for a non-admin's agentUrl
	Now          func() time.Time
	Log          *slog.Logger
}

// TaskQuery selects a page of tasks. Cursor is a TaskList's NextCursor.
type TaskQuery struct {
	Cursor   string
	Limit    int
	Q        string // part of the title, in any case
	Archived *bool
}

// TaskPatch changes what is not nil.
type TaskPatch struct {
	Title         *string
	Archived      *bool
	ReadRev       *int64
	Agent         *string
	Project       *string
	HostID        *string
	AgentURL      *string
	AgentPassword *string
}

// Create makes a task; without host and URL it is placed on the reachable
// registered host with the fewest open turns.
func (s *Tasks) Create(ctx context.Context, caller Caller, req *protocol.CreateTaskRequest) (*protocol.Task, error) {
	return nil, nil
}

// List is a page of the user's tasks, newest activity first.
func (s *Tasks) List(ctx context.Context, userID string, q TaskQuery) (*protocol.TaskList, error) {
	return nil, nil
}

// Get is one task.
func (s *Tasks) Get(ctx context.Context, userID, id string) (*protocol.Task, error) {
	return nil, nil
}

// Update changes a task.
func (s *Tasks) Update(ctx context.Context, userID, id string, p TaskPatch, caller Caller) (*protocol.Task, error) {
	return nil, nil
}

// Delete leaves a tombstone for 48 h, and tells the host, which may not hear it.
func (s *Tasks) Delete(ctx context.Context, userID, id string) error { return nil }
