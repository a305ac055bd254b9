package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/observe"
	"bellhop/protocol"
)

func (s *Store) ArchivedTasks(
	ctx context.Context, unchangedSince time.Time, after int64, limit int,
) (found []broker.ArchivedTask, err error) {
	err = s.conn(ctx).Raw(`SELECT id, no, user_id FROM tasks
		WHERE archived = TRUE AND deleted_at IS NULL AND changed_at < ? AND no > ? ORDER BY no LIMIT ?`,
		unchangedSince.UTC(), after, limit).Scan(&found).Error
	return found, database.Fault(err, "Archived tasks", "")
}

// PruneRefused implements broker.MaintenanceStore. Ids of refused events grow with the time.
func (s *Store) PruneRefused(ctx context.Context, keep int) (int64, error) {
	// The row behind those that stay is the newest one to delete.
	const newest = `SELECT a.id FROM audit a WHERE a.task_id = t.id ORDER BY a.id DESC LIMIT 1 OFFSET `
	const due = `EXISTS (` + newest + `?) AS due`
	return s.eachTask(ctx, due, []any{keep}, func(t prunedTask) (int64, error) {
		return s.db.DeleteChunks(ctx, "Refused events of task", t.ID, database.Chunks{
			Table: "audit", Key: "id", Args: []any{t.ID, t.ID, keep},
			Where: `task_id = ? AND id <= (SELECT b.id FROM audit b WHERE b.task_id = ? ORDER BY b.id DESC LIMIT 1 OFFSET ?)`,
		})
	})
}

func (s *Store) PruneAudit(ctx context.Context, before time.Time) (int64, error) {
	return s.db.DeleteChunks(ctx, "Audit log", "", database.Chunks{
		Table: "audit_log", Key: "at", Where: "at < ?", Args: []any{before.UTC()},
	})
}

// bodiesAtOnce is how many events a transaction removes the bodies of. It holds the lock of their task.
const bodiesAtOnce = 1000

// unpruned are the events with a position behind the one up to which bodies are removed.
const unpruned = `epoch IS NOT NULL AND late = FALSE AND (epoch, event_seq) > (?, ?)`

// PruneEvents implements broker.MaintenanceStore. An event keeps its row, with id and position: a host that
// sends it again gets the same answer. The body of a text event is the text of its message and
// stays. event_prunings has the position up to which this is done, so no row is looked at twice.
func (s *Store) PruneEvents(ctx context.Context, before time.Time) (int64, error) {
	const due = `t.deleted_at IS NULL AND COALESCE((SELECT l.created_at FROM log l
		WHERE l.task_no = t.no AND l.epoch IS NOT NULL AND l.late = FALSE
		AND (l.epoch, l.event_seq) > (COALESCE(p.epoch, 0), COALESCE(p.seq, 0))
		ORDER BY l.epoch, l.event_seq LIMIT 1) < ?, FALSE) AS due`
	return s.eachTask(ctx, due, []any{before.UTC()}, func(t prunedTask) (total int64, err error) {
		for more := true; more && ctx.Err() == nil; {
			var n int64
			if n, more, err = s.pruneBodies(ctx, t, before); err != nil {
				return total, err
			}
			total += n
			observe.Progress(ctx, n)
		}
		return total, nil
	})
}

// pruneBodies removes the bodies of the next events of a task that were stored before a time. more
// reports whether there may be further ones.
func (s *Store) pruneBodies(ctx context.Context, t prunedTask, before time.Time) (n int64, more bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context) error {
		n, more = 0, false
		if err := s.conn(ctx).Exec(`SELECT no FROM tasks WHERE id = ?`+s.lock("FOR NO KEY UPDATE"), t.ID).Error; err != nil {
			return database.Fault(err, "Task", t.ID)
		}
		var from protocol.Cursor
		err := s.conn(ctx).Raw(`SELECT epoch, seq FROM event_prunings WHERE task_no = ?`, t.No).Scan(&from).Error
		if err != nil {
			return database.Fault(err, "Task", t.ID)
		}
		var page []struct {
			Epoch, Seq int64
			Old        bool
		}
		err = s.conn(ctx).Raw(`SELECT epoch, event_seq AS seq, created_at < ? AS old FROM log
			WHERE task_no = ? AND `+unpruned+` ORDER BY epoch, event_seq LIMIT ?`,
			before.UTC(), t.No, from.Epoch, from.Seq, bodiesAtOnce).Scan(&page).Error
		if err != nil {
			return database.Fault(err, "Events of task", t.ID)
		}
		to := from
		for i, e := range page {
			if !e.Old {
				break
			}
			to, more = protocol.Cursor{Epoch: e.Epoch, Seq: e.Seq}, i == bodiesAtOnce-1
		}
		if to == from {
			return nil
		}
		n, err = s.removeBodies(ctx, t, from, to)
		return err
	})
	return n, more, err
}

func (s *Store) removeBodies(ctx context.Context, t prunedTask, from, to protocol.Cursor) (int64, error) {
	n, err := s.db.Exec(ctx, "Events of task", t.ID, `UPDATE log SET body = NULL WHERE task_no = ? AND `+unpruned+`
		AND (epoch, event_seq) <= (?, ?) AND type <> 'text' AND body IS NOT NULL`,
		t.No, from.Epoch, from.Seq, to.Epoch, to.Seq)
	if err != nil {
		return 0, err
	}
	_, err = s.db.Exec(ctx, "Events of task", t.ID, `INSERT INTO event_prunings (task_no, epoch, seq) VALUES (?, ?, ?)
		ON CONFLICT (task_no) DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq`, t.No, to.Epoch, to.Seq)
	return n, err
}
