package store

import (
	"context"
	"errors"
	"time"

	"bellhop/internal/database"
)

// purgedRows lists the tables that have many rows of a task. Rows of the old tables come
// first, because they move to the log meanwhile. A row of the log has an event, a message or
// both, and the two indexes find it by either. The foreign keys delete the rows of the tables
// that are not named.
var purgedRows = []database.Chunks{
	{Table: "old_events", Key: "event_id", Where: "task_id = ?"},
	{Table: "old_messages", Key: "seq", Where: "task_id = ?"},
	{Table: "old_changes", Key: "rev", Where: "task_id = ?"},
	{Table: "log_moves", Key: "task_id", Where: "task_id = ?"},
	{Table: "log", Key: "event_id", Where: ofTask + " AND event_id IS NOT NULL"},
	{Table: "log", Key: "seq", Where: ofTask + " AND seq IS NOT NULL"},
	{Table: "change_ranges", Key: "rev", Where: ofTask},
	{Table: "turns", Key: "id", Where: "task_id = ?"},
	{Table: "interactions", Key: "id", Where: "task_id = ?"},
	{Table: "audit", Key: "id", Where: "task_id = ?"},
}

// PurgeTasks implements broker.MaintenanceStore. A task is deleted in chunks, because it may
// have more rows than a statement can delete. One that fails stays until the next time, and
// the others are deleted.
func (s *Store) PurgeTasks(ctx context.Context, deletedBefore time.Time) (purged int64, err error) {
	var ids []string
	err = s.conn(ctx).Raw(`SELECT id FROM tasks WHERE deleted_at IS NOT NULL AND deleted_at < ?
		AND NOT EXISTS (SELECT 1 FROM session_ends WHERE task_id = tasks.id)`, deletedBefore.UTC()).Scan(&ids).Error
	if err != nil {
		return 0, database.Fault(err, "Tombstones", "")
	}
	var failures []error
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		if err := s.purge(ctx, id); err != nil {
			failures = append(failures, err)
			continue
		}
		purged++
	}
	return purged, errors.Join(failures...)
}

// purge deletes a task. The task's row is the last one: until then a repetition finds it.
func (s *Store) purge(ctx context.Context, id string) error {
	for _, chunks := range purgedRows {
		chunks.Args = []any{id}
		if _, err := s.db.DeleteChunks(ctx, "Task", id, chunks); err != nil {
			return err
		}
	}
	_, err := s.db.Exec(ctx, "Task", id, `DELETE FROM tasks WHERE id = ?`, id)
	return err
}

// PruneChanges implements broker.MaintenanceStore. A task that fails is left for the next
// time.
func (s *Store) PruneChanges(ctx context.Context, keep int64) (total int64, err error) {
	var tasks []struct {
		ID  string
		Rev int64
	}
	if err := s.conn(ctx).Raw(`SELECT id, rev FROM tasks WHERE rev > ?`, keep).Scan(&tasks).Error; err != nil {
		return 0, database.Fault(err, "Changes", "")
	}
	var failures []error
	for _, t := range tasks {
		if ctx.Err() != nil {
			break
		}
		n, err := s.pruneChanges(ctx, t.ID, t.Rev-keep)
		if err != nil {
			failures = append(failures, err)
		}
		total += n
	}
	return total, errors.Join(failures...)
}

// pruneChanges deletes a task's changes up to rev. A range that goes on behind it is
// cut.
func (s *Store) pruneChanges(ctx context.Context, taskID string, rev int64) (deleted int64, err error) {
	_, err = whileMoving(ctx, s, func() ([]struct{}, error) {
		deleted, err = s.db.DeleteChunks(ctx, "Changes of task", taskID, database.Chunks{
			Table: "old_changes", Key: "rev", Where: "task_id = ? AND rev <= ?", Args: []any{taskID, rev},
		})
		return nil, err
	})
	if err != nil {
		return deleted, err
	}
	n, err := s.db.DeleteChunks(ctx, "Changes of task", taskID, database.Chunks{
		Table: "change_ranges", Key: "rev", Where: ofTask + " AND rev + n - 1 <= ? AND rev <= ?",
		Args: []any{taskID, rev, rev},
	})
	if deleted += n; err != nil {
		return deleted, err
	}
	_, err = s.db.Exec(ctx, "Changes of task", taskID, `UPDATE change_ranges
		SET n = rev + n - ?, seq = seq + CASE WHEN kind = 'message' THEN ? - rev ELSE 0 END, rev = ?
		WHERE `+ofTask+` AND rev <= ?`, rev+1, rev+1, rev+1, taskID, rev)
	return deleted, err
}
