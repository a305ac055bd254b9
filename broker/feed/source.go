package feed

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// Source provides the changes that feeds show; *broker.Feeds implements it.
type Source interface {
	// Get returns a task of the user; another user's is CodeNotFound.
	Get(ctx context.Context, userID, taskID string) (*protocol.Task, error)

	// Changes returns the task's changes after since in the order of their revs, at
	// most limit, and the task's rev. It returns broker.ErrReset when since is
	// ahead of the task or older than the stored changes.
	Changes(ctx context.Context, userID, taskID string, since int64, limit int) ([]broker.Change, int64, error)

	// Revs returns the revs of the tasks that exist.
	Revs(ctx context.Context, taskIDs []string) (map[string]int64, error)

	// Hints returns a hint for each of the user's tasks, the most recently changed
	// first.
	Hints(ctx context.Context, userID string, limit int) ([]protocol.TaskHint, error)

	// HintsSince returns the tasks of these users that changed at since or later,
	// by the clock of the replica that wrote the change.
	HintsSince(ctx context.Context, userIDs []string, since time.Time) ([]broker.UserHint, error)
}

// AgentSource provides the agent sessions of notebooks: a user's feed has hints of them
// beside those of tasks.
type AgentSource interface {
	// Hints returns a hint for each of the user's agent sessions.
	Hints(ctx context.Context, userID string) ([]protocol.AgentHint, error)

	// Revs returns the revs of the agent sessions of these users that changed at
	// since or later: user id → agent session id → rev.
	Revs(ctx context.Context, userIDs []string, since time.Time) (map[string]map[string]int64, error)
}
