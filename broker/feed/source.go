package feed

import (
	"context"

	"bellhop/broker"
	"bellhop/protocol"
)

// Source is what feeds are read from; broker's use cases implement it.
type Source interface {
	// Get returns a task of the user; another's is CodeNotFound.
	Get(ctx context.Context, userID, taskID string) (*protocol.Task, error)

	// Changes returns the task's changes after since in the order of their
	// revs, at most limit, and the task's rev, as one consistent view. A since
	// that is ahead of the task or older than the changes that are kept is
	// CodeGap.
	Changes(ctx context.Context, userID, taskID string, since int64, limit int) ([]broker.Change, int64, error)

	// Revs returns the revs of those of the tasks that exist.
	Revs(ctx context.Context, taskIDs []string) (map[string]int64, error)

	// Hints returns a hint for each of the user's tasks, the last changed first.
	Hints(ctx context.Context, userID string, limit int) ([]protocol.TaskHint, error)

	// UserRevs returns, per user, any number that is another one after each
	// change of the user's tasks: the sum of their revs, for one.
	UserRevs(ctx context.Context, userIDs []string) (map[string]int64, error)
}
