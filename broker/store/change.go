package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

var changeRefs = table.New("changes",
	table.Integer("rev", func(c *broker.ChangeRef) *int64 { return &c.Rev }).Key(),
	table.Text("kind", func(c *broker.ChangeRef) *broker.ChangeKind { return &c.Kind }),
	table.Text("ref_id", func(c *broker.ChangeRef) *string { return &c.RefID }),
)

// change is a change reference with the task that it belongs to.
type change struct {
	taskID string
	ref    broker.ChangeRef
}

var changes = table.New("changes", append(
	table.Lift(changeRefs.Columns, func(c *change) *broker.ChangeRef { return &c.ref }),
	table.Text("task_id", func(c *change) *string { return &c.taskID }).Key(),
)...)

func changesOf(b *broker.Batch) []change {
	all := make([]change, len(b.Changes))
	for i, ref := range b.Changes {
		all[i] = change{taskID: b.Task.ID, ref: ref}
	}
	return all
}

// ChangeRefs implements broker.FeedStore.
func (s *Store) ChangeRefs(ctx context.Context, taskID string, since int64, limit int) ([]broker.ChangeRef, error) {
	return database.Find(ctx, s.db, changeRefs, "Changes of task", taskID,
		"WHERE task_id = ? AND rev > ? ORDER BY rev LIMIT ?", taskID, since, limit)
}

// Revs implements broker.FeedStore.
func (s *Store) Revs(ctx context.Context, taskIDs []string) (map[string]int64, error) {
	var rows []struct {
		ID  string
		Rev int64
	}
	if err := s.conn(ctx).Raw(`SELECT id, rev FROM tasks WHERE id IN ?`, taskIDs).Scan(&rows).Error; err != nil {
		return nil, database.Fault(err, "Revs", "")
	}
	revs := make(map[string]int64, len(rows))
	for _, r := range rows {
		revs[r.ID] = r.Rev
	}
	return revs, nil
}

// hints has the columns of a task that the feed of a user shows.
var hints = table.New("tasks",
	table.Text("id", func(h *broker.UserHint) *string { return &h.TaskID }),
	table.Text("user_id", func(h *broker.UserHint) *string { return &h.UserID }),
	table.Integer("rev", func(h *broker.UserHint) *int64 { return &h.Rev }),
	table.Text("agent_status", func(h *broker.UserHint) *protocol.Status { return &h.AgentStatus }),
	table.Text("reason", func(h *broker.UserHint) *string { return &h.Reason }),
	table.Integer("open_questions", func(h *broker.UserHint) *int { return &h.OpenInteractions }),
	table.Time("changed_at", func(h *broker.UserHint) *time.Time { return &h.ChangedAt }),
)

// Hints implements broker.FeedStore.
func (s *Store) Hints(ctx context.Context, userID string, limit int) ([]protocol.TaskHint, error) {
	found, err := database.Find(ctx, s.db, hints, "Hints of user", userID,
		"WHERE user_id = ? AND deleted_at IS NULL ORDER BY changed_at DESC, id DESC LIMIT ?", userID, limit)
	if err != nil {
		return nil, err
	}
	list := make([]protocol.TaskHint, len(found))
	for i := range found {
		list[i] = found[i].TaskHint
	}
	return list, nil
}

// HintsSince implements broker.FeedStore.
func (s *Store) HintsSince(ctx context.Context, userIDs []string, since time.Time) ([]broker.UserHint, error) {
	return database.Find(ctx, s.db, hints, "Hints", "",
		"WHERE user_id IN ? AND changed_at >= ? ORDER BY changed_at, id", userIDs, since.UTC())
}
