package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/protocol"
)

// ChangeRefs implements broker.ChangeStore.
func (s *Store) ChangeRefs(ctx context.Context, taskID string, since int64, limit int) ([]broker.ChangeRef, error) {
	var refs []broker.ChangeRef
	err := s.conn(ctx).Raw(`SELECT rev, kind, ref_id FROM changes WHERE task_id = ? AND rev > ? ORDER BY rev LIMIT ?`,
		taskID, since, limit).Scan(&refs).Error
	return refs, database.Fault(err, "Changes of task", taskID)
}

// Revs implements broker.ChangeStore.
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

type hintRow struct {
	ID            string
	UserID        string
	Rev           int64
	AgentStatus   string
	Reason        string
	OpenQuestions int
	ChangedAt     time.Time
}

func (r *hintRow) hint() protocol.TaskHint {
	return protocol.TaskHint{
		TaskID: r.ID, Rev: r.Rev, AgentStatus: protocol.Status(r.AgentStatus), Reason: r.Reason, OpenInteractions: r.OpenQuestions,
	}
}

const hintColumns = `id, user_id, rev, agent_status, reason, open_questions, changed_at`

// Hints implements broker.ChangeStore.
func (s *Store) Hints(ctx context.Context, userID string, limit int) ([]protocol.TaskHint, error) {
	var rows []hintRow
	err := s.conn(ctx).Raw(`SELECT `+hintColumns+` FROM tasks WHERE user_id = ? AND deleted_at IS NULL
		ORDER BY changed_at DESC, id DESC LIMIT ?`, userID, limit).Scan(&rows).Error
	if err != nil {
		return nil, database.Fault(err, "Hints of user", userID)
	}
	hints := make([]protocol.TaskHint, len(rows))
	for i := range rows {
		hints[i] = rows[i].hint()
	}
	return hints, nil
}

// HintsSince implements broker.ChangeStore.
func (s *Store) HintsSince(ctx context.Context, userIDs []string, since time.Time) ([]broker.UserHint, error) {
	var rows []hintRow
	err := s.conn(ctx).Raw(`SELECT `+hintColumns+` FROM tasks WHERE user_id IN ? AND changed_at >= ?
		ORDER BY changed_at, id`, userIDs, since.UTC()).Scan(&rows).Error
	if err != nil {
		return nil, database.Fault(err, "Hints", "")
	}
	hints := make([]broker.UserHint, len(rows))
	for i := range rows {
		hints[i] = broker.UserHint{UserID: rows[i].UserID, ChangedAt: rows[i].ChangedAt.UTC(), TaskHint: rows[i].hint()}
	}
	return hints, nil
}
