package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bellhop/internal/database"
)

// purgedRows lists the tables that have many rows of a task. A row of the log has an event, a message or
// both, and the two indexes find it by either. The foreign keys delete the rows of the tables
// that are not named.
var purgedRows = []database.Chunks{
	{Table: "log", Key: "event_id", Where: ofTask + " AND event_id IS NOT NULL"},
	{Table: "log", Key: "seq", Where: ofTask + " AND seq IS NOT NULL"},
	{Table: "change_ranges", Key: "rev", Where: ofTask},
	{Table: "event_prunings", Key: "task_no", Where: ofTask},
	{Table: "turns", Key: "id", Where: "task_id = ?"},
	{Table: "interactions", Key: "id", Where: "task_id = ?"},
	{Table: "queued_messages", Key: "id", Where: "task_id = ?", Rows: fewRows}, // one may have 12 MiB
	{Table: "audit", Key: "id", Where: "task_id = ?"},
	{Table: "shares", Key: "id", Where: "task_id = ?"},
}

// maintenancePage is how many tasks or users a statement of maintenance reads.
const maintenancePage = 500

// deletedTask is a task that may be purged. Its host may owe the end of its session.
type deletedTask struct {
	ID   string
	Owed bool
}

// PurgeTasks implements broker.MaintenanceStore. A task is deleted in chunks, because it may
// have more rows than a statement can delete. One that fails stays until the next time, and
// the others are deleted. A task whose host owes the end of the session loses all its rows too, but
// its own, which names the host.
func (s *Store) PurgeTasks(ctx context.Context, deletedBefore time.Time) (purged int64, err error) {
	var failures failures
	for after := ""; ctx.Err() == nil; {
		var page []deletedTask
		err := s.conn(ctx).Raw(`SELECT id, EXISTS (SELECT 1 FROM session_ends e WHERE e.task_id = tasks.id) AS owed FROM tasks
			WHERE deleted_at IS NOT NULL AND deleted_at < ? AND id > ? ORDER BY id LIMIT ?`,
			deletedBefore.UTC(), after, maintenancePage).Scan(&page).Error
		if err != nil {
			failures.add(database.Fault(err, "Tombstones", ""))
			break
		}
		for _, t := range page {
			if ctx.Err() != nil {
				break
			}
			n, err := s.purge(ctx, t)
			failures.add(err)
			purged += n
			after = t.ID
		}
		if len(page) < maintenancePage {
			break
		}
	}
	return purged, failures.err()
}

// purge deletes a task's rows; a row that cannot be deleted does not stop the others. The task's row is the
// last one: until then a repetition finds it.
func (s *Store) purge(ctx context.Context, t deletedTask) (purged int64, err error) {
	var failed []error
	for _, chunks := range purgedRows {
		chunks.Args = []any{t.ID}
		_, err := s.db.DeleteChunks(ctx, "Task", t.ID, chunks)
		failed = append(failed, err)
	}
	switch err := errors.Join(failed...); {
	case err != nil || ctx.Err() != nil:
		return 0, err
	case t.Owed:
		_, err := s.db.Exec(ctx, "Task", t.ID, `UPDATE tasks SET title = '', words = '' WHERE id = ? AND title <> ''`, t.ID)
		return 0, err
	}
	return s.db.Exec(ctx, "Task", t.ID, `DELETE FROM tasks WHERE id = ?
		AND NOT EXISTS (SELECT 1 FROM session_ends e WHERE e.task_id = tasks.id)`, t.ID)
}

// failures counts the errors of a round, of which it keeps the first.
type failures struct {
	first error
	more  int
}

func (f *failures) add(err error) {
	switch {
	case err == nil:
	case f.first == nil:
		f.first = err
	default:
		f.more++
	}
}

func (f *failures) err() error {
	if f.more == 0 {
		return f.first
	}
	return fmt.Errorf("%w (and %d more errors)", f.first, f.more)
}

// prunedTask is a task that has rows beyond its retention.
type prunedTask struct {
	ID  string
	No  int64
	Rev int64
	Due bool // it has such rows
}

// eachTask calls do for each task that is due. columns are what it reads of tasks t and event_prunings p
// beside id and no, due among them. A task that fails does not stop the others.
func (s *Store) eachTask(
	ctx context.Context, columns string, args []any, do func(t prunedTask) (int64, error),
) (total int64, err error) {
	var failures failures
	for after := int64(0); ctx.Err() == nil; {
		var page []prunedTask
		err := s.conn(ctx).Raw(`SELECT t.id, t.no, `+columns+`
			FROM tasks t LEFT JOIN event_prunings p ON p.task_no = t.no WHERE t.no > ? ORDER BY t.no LIMIT ?`,
			append(args[:len(args):len(args)], after, maintenancePage)...).Scan(&page).Error
		if err != nil {
			failures.add(database.Fault(err, "Tasks", ""))
			break
		}
		for _, t := range page {
			after = t.No
			if !t.Due || ctx.Err() != nil {
				continue
			}
			n, err := do(t)
			failures.add(err)
			total += n
		}
		if len(page) < maintenancePage {
			break
		}
	}
	return total, failures.err()
}

// PruneChanges implements broker.MaintenanceStore. A task that fails is left for the next
// time.
func (s *Store) PruneChanges(ctx context.Context, keep int64) (int64, error) {
	const due = `t.rev, t.rev > ? AND EXISTS (
		SELECT 1 FROM change_ranges c WHERE c.task_no = t.no AND c.rev <= t.rev - ?) AS due`
	return s.eachTask(ctx, due, []any{keep, keep}, func(t prunedTask) (int64, error) {
		return s.pruneChanges(ctx, t.ID, t.Rev-keep)
	})
}

// pruneChanges deletes a task's changes up to rev, in order: a reader of the feed detects only that the first
// ones are gone. A range that continues behind rev is cut.
func (s *Store) pruneChanges(ctx context.Context, taskID string, rev int64) (deleted int64, err error) {
	deleted, err = s.db.DeleteChunks(ctx, "Changes of task", taskID, database.Chunks{
		Table: "change_ranges", Key: "rev", Where: ofTask + " AND rev + n - 1 <= ? AND rev <= ?",
		Args: []any{taskID, rev, rev}, InOrder: true,
	})
	if err != nil {
		return deleted, err
	}
	_, err = s.db.Exec(ctx, "Changes of task", taskID, `UPDATE change_ranges
		SET n = rev + n - ?, seq = seq + CASE WHEN kind = 'message' THEN ? - rev ELSE 0 END, rev = ?
		WHERE `+ofTask+` AND rev <= ?`, rev+1, rev+1, rev+1, taskID, rev)
	return deleted, err
}
