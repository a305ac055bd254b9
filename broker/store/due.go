package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
)

// DueTasks implements broker.DueStore.
func (s *Store) DueTasks(ctx context.Context, hostEvents bool, when broker.Overdue) ([]broker.DueTask, error) {
	var due []broker.DueTask
	err := s.conn(ctx).Raw(`SELECT DISTINCT tasks.id AS id, COALESCE(tasks.host_id, tasks.agent_url) AS host
		FROM turns JOIN tasks ON tasks.id = turns.task_id
		WHERE turns.state <> 'closed' AND tasks.deleted_at IS NULL AND tasks.host_events = ? AND (
			turns.state = 'open' AND (tasks.last_event_at IS NULL OR tasks.last_event_at <= ? OR tasks.last_event_at > ?)
			OR turns.state = 'announced' AND turns.announced_at <= ?)
		ORDER BY 1`, hostEvents, when.Silent.UTC(), when.Future.UTC(), when.Announced.UTC()).Scan(&due).Error
	return due, database.Fault(err, "Due tasks", "")
}

// maxUnfinished limits how many hosts are asked for a question.
const maxUnfinished = 16

// UnfinishedTasks implements broker.InteractionStore.
func (s *Store) UnfinishedTasks(ctx context.Context, userID string) ([]string, error) {
	var ids []string
	err := s.conn(ctx).Raw(`SELECT id FROM tasks WHERE user_id = ? AND deleted_at IS NULL AND EXISTS (
			SELECT 1 FROM turns WHERE turns.task_id = tasks.id AND turns.state <> 'closed')
		ORDER BY last_activity_at DESC LIMIT ?`, userID, maxUnfinished).Scan(&ids).Error
	return ids, database.Fault(err, "Tasks", "")
}

// PurgeTasks implements broker.MaintenanceStore. Each task is deleted in its own
// transaction, because it may have many rows.
func (s *Store) PurgeTasks(ctx context.Context, deletedBefore time.Time) (int64, error) {
	var ids []string
	err := s.conn(ctx).Raw(`SELECT id FROM tasks WHERE deleted_at IS NOT NULL AND deleted_at < ?
		AND NOT EXISTS (SELECT 1 FROM session_ends WHERE task_id = tasks.id)`, deletedBefore.UTC()).Scan(&ids).Error
	if err != nil {
		return 0, database.Fault(err, "Tombstones", "")
	}
	for i, id := range ids {
		if err := s.purge(ctx, id); err != nil {
			return int64(i), err
		}
	}
	return int64(len(ids)), nil
}

// purge deletes a task. The foreign keys delete the rows of the tables that are not
// named.
func (s *Store) purge(ctx context.Context, id string) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		for _, sql := range []string{
			`DELETE FROM log WHERE ` + ofTask,
			`DELETE FROM change_ranges WHERE ` + ofTask,
			`DELETE FROM old_events WHERE task_id = ?`,
			`DELETE FROM old_messages WHERE task_id = ?`,
			`DELETE FROM old_changes WHERE task_id = ?`,
			`DELETE FROM log_moves WHERE task_id = ?`,
			`DELETE FROM tasks WHERE id = ?`,
		} {
			if err := s.conn(ctx).Exec(sql, id).Error; err != nil {
				return database.Fault(err, "Task", id)
			}
		}
		return nil
	})
}

// PruneChanges implements broker.MaintenanceStore.
func (s *Store) PruneChanges(ctx context.Context, keep int64) (int64, error) {
	var tasks []struct {
		ID  string
		Rev int64
	}
	if err := s.conn(ctx).Raw(`SELECT id, rev FROM tasks WHERE rev > ?`, keep).Scan(&tasks).Error; err != nil {
		return 0, database.Fault(err, "Changes", "")
	}
	var total int64
	for _, t := range tasks {
		n, err := s.pruneChanges(ctx, t.ID, t.Rev-keep)
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// pruneChanges deletes a task's changes up to rev. A range that goes on behind it is
// cut.
func (s *Store) pruneChanges(ctx context.Context, taskID string, rev int64) (deleted int64, err error) {
	err = s.db.Write(ctx, func(ctx context.Context) error {
		_, err := whileMoving(ctx, s, func() ([]struct{}, error) {
			n, err := s.db.Exec(ctx, "Changes of task", taskID, `DELETE FROM old_changes WHERE task_id = ? AND rev <= ?`, taskID, rev)
			deleted += n
			return nil, err
		})
		if err != nil {
			return err
		}
		n, err := s.db.Exec(ctx, "Changes of task", taskID, `DELETE FROM change_ranges WHERE `+ofTask+` AND rev + n - 1 <= ?`, taskID, rev)
		if deleted += n; err != nil {
			return err
		}
		_, err = s.db.Exec(ctx, "Changes of task", taskID, `UPDATE change_ranges
			SET n = rev + n - ?, seq = seq + CASE WHEN kind = 'message' THEN ? - rev ELSE 0 END, rev = ?
			WHERE `+ofTask+` AND rev <= ?`, rev+1, rev+1, rev+1, taskID, rev)
		return err
	})
	return deleted, err
}
