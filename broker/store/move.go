package store

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"gorm.io/gorm"

	"bellhop/broker"
	"bellhop/internal/database"
)

// Migration "log" made the log and left the rows where they were: in old_events,
// old_messages and old_changes. Move moves them, a step at a time, each in its own
// transaction under the lock of one task. Until it is done,
//   - reads take rows from both sides, the old one first, so that a row which is moved
//     in between is read twice rather than not at all;
//   - writes go to the log alone. A message that changes is moved first, and the ids of
//     new events are looked up in the old table, because no index spans both.
// A step that is interrupted leaves nothing; the next one continues.

// LogMigration is the name of the migration that made the log.
const LogMigration = "log"

// moveRows bounds how many rows of a table one step moves.
const moveRows = 500

// whileMoving runs find until all rows are moved, and then returns nil.
func whileMoving[R any](ctx context.Context, s *Store, find func() ([]R, error)) ([]R, error) {
	moving, err := s.moving(ctx)
	if err != nil || !moving {
		return nil, err
	}
	return find()
}

// moving reports whether there may be rows in the old tables. Once there are none,
// it counts no longer until the database comes back from a backup.
func (s *Store) moving(ctx context.Context) (bool, error) {
	if s.moved.Load() {
		return false, nil
	}
	left, err := s.MovesLeft(ctx, 1)
	s.moved.Store(err == nil && left == 0)
	return left > 0, err
}

// MovesLeft counts the tasks whose rows are not all moved, up to a limit.
func (s *Store) MovesLeft(ctx context.Context, limit int) (int64, error) {
	var left int64
	err := s.conn(ctx).Raw(`SELECT count(*) FROM (SELECT 1 FROM log_moves LIMIT ?) m`, limit).Row().Scan(&left)
	return left, database.Fault(err, "Moves of the log", "")
}

// merged returns the rows of both lists in order, at most limit (0 = all). Of rows that
// are equal in the order, it returns only the new one.
func merged[R any](old, found []R, less func(a, b *R) bool, limit int) []R {
	if len(old) > 0 {
		order := func(a, b R) int {
			switch {
			case less(&a, &b):
				return -1
			case less(&b, &a):
				return 1
			}
			return 0
		}
		found = slices.Concat(found, old)
		slices.SortStableFunc(found, order)
		found = slices.CompactFunc(found, func(a, b R) bool { return order(a, b) == 0 })
	}
	if limit > 0 && len(found) > limit {
		found = found[:limit]
	}
	return found
}

// beforeApply prepares a task for a batch while rows may still be in the old tables: it moves the
// rows that the batch changes. It returns broker.ErrTaken if an event in the old tables has the id
// or the position of one in the batch.
func (s *Store) beforeApply(ctx context.Context, b *broker.Batch) error {
	moving, err := s.moving(ctx)
	if err != nil || !moving {
		return err
	}
	if err := s.moveChanged(ctx, b); err != nil {
		return err
	}
	ids, positions := []string{}, [][]any{}
	for _, events := range [][]broker.StoredEvent{b.Events, b.MovedEvents} {
		for i := range events {
			e := &events[i]
			if ids = append(ids, e.EventID); e.Epoch > 0 && !e.Late {
				positions = append(positions, []any{e.Epoch, e.Seq})
			}
		}
	}
	taken, err := s.takenBefore(ctx, b.Task.ID, ids, positions)
	switch {
	case err != nil:
		return err
	case taken:
		return fmt.Errorf("task %s: %w", b.Task.ID, broker.ErrTaken)
	}
	return nil
}

// moveChanged moves the rows that a batch changes: messages with their events, and
// events with the messages that they left.
func (s *Store) moveChanged(ctx context.Context, b *broker.Batch) error {
	var seqs []int64
	for i := range b.ChangedMessages {
		seqs = append(seqs, b.ChangedMessages[i].Seq)
	}
	for i := range b.MovedEvents {
		var left []int64
		err := s.conn(ctx).Raw(`SELECT seq FROM old_messages WHERE task_id = ? AND event_id = ?`,
			b.Task.ID, b.MovedEvents[i].EventID).Scan(&left).Error
		if err != nil {
			return database.Fault(err, "Messages of task", b.Task.ID)
		}
		seqs = append(seqs, left...)
	}
	for _, seq := range seqs {
		if _, err := s.moveMessages(ctx, b.Task.ID, "= ?", seq); err != nil {
			return err
		}
	}
	for i := range b.MovedEvents {
		if _, err := s.moveEvents(ctx, b.Task.ID, "= ?", b.MovedEvents[i].EventID); err != nil {
			return err
		}
	}
	return nil
}

// takenBefore reports whether an event that is not moved yet has one of these ids or
// positions.
func (s *Store) takenBefore(ctx context.Context, taskID string, ids []string, positions [][]any) (bool, error) {
	if len(ids) == 0 {
		return false, nil
	}
	where, args := `event_id IN ?`, []any{taskID, ids}
	if len(positions) > 0 {
		where, args = where+` OR late = FALSE AND (epoch, seq) IN ?`, append(args, positions)
	}
	var taken int64
	err := s.conn(ctx).Raw(`SELECT count(*) FROM old_events WHERE task_id = ? AND (`+where+`)`, args...).Row().Scan(&taken)
	return taken > 0, database.Fault(err, "Events of task", taskID)
}

// Move moves all rows that are not moved yet. It works at most half of the time, so
// that requests find a free database. It returns when all is done, or ctx ends.
func (s *Store) Move(ctx context.Context, log *slog.Logger) error {
	for announced := false; ctx.Err() == nil; {
		start := time.Now()
		more, err := s.MoveStep(ctx)
		switch {
		case err != nil && ctx.Err() != nil: // it was interrupted
		case err != nil:
			log.WarnContext(ctx, "rows of an earlier version not moved", "error", err)
		case !more && announced:
			log.InfoContext(ctx, "all rows of an earlier version are moved")
			return nil
		case !more:
			return nil
		case !announced:
			log.InfoContext(ctx, "rows of an earlier version are being moved; this broker serves meanwhile")
			announced = true
		}
		wait := time.Since(start)
		if err != nil {
			wait = moveRetry
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}

const moveRetry = 10 * time.Second

// MoveStep moves a bounded number of rows of one task. It reports whether there may
// be more.
func (s *Store) MoveStep(ctx context.Context) (more bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context) error {
		var ids []string
		if err := s.conn(ctx).Raw(`SELECT task_id FROM log_moves ORDER BY task_id LIMIT 1`).Scan(&ids).Error; err != nil {
			return database.Fault(err, "Moves of the log", "")
		}
		if more = len(ids) > 0; !more {
			return nil
		}
		return s.moveTask(ctx, ids[0])
	})
	return more, err
}

// moveTask moves changes, then messages with their events, then the other events.
// Changes name messages by their id, so they come first.
func (s *Store) moveTask(ctx context.Context, id string) error {
	if err := s.conn(ctx).Exec(`SELECT no FROM tasks WHERE id = ?`+s.lock("FOR NO KEY UPDATE"), id).Error; err != nil {
		return database.Fault(err, "Task", id)
	}
	for _, part := range []struct {
		column, table string
		move          func(ctx context.Context, id, condition string, last any) (int64, error)
	}{
		{"rev", "old_changes", s.moveChanges},
		{"seq", "old_messages", s.moveMessages},
		{"event_id", "old_events", s.moveEvents},
	} {
		last, err := s.lastOf(ctx, id, part.column, part.table)
		if err != nil {
			return err
		}
		if last == nil {
			continue
		}
		moved, err := part.move(ctx, id, "<= ?", last)
		if err != nil || moved >= moveRows {
			return err
		}
	}
	return database.Fault(s.conn(ctx).Exec(`DELETE FROM log_moves WHERE task_id = ?`, id).Error, "Task", id)
}

// lastOf returns the value of an ordering column in the last row of the next step, nil
// if no row is left.
func (s *Store) lastOf(ctx context.Context, id, column, table string) (last any, err error) {
	err = s.conn(ctx).Raw(`SELECT max(`+column+`) FROM (
		SELECT `+column+` FROM `+table+` WHERE task_id = ? ORDER BY `+column+` LIMIT ?) r`,
		id, moveRows).Row().Scan(&last)
	return last, database.Fault(err, "Task", id)
}

func (s *Store) moveChanges(ctx context.Context, id, condition string, last any) (int64, error) {
	return s.moveFrom(ctx, id,
		moveStatement{`INSERT INTO change_ranges (task_no, rev, n, kind, seq, ref_id)
			SELECT t.no, c.rev, 1, ` + oldChangeKind + `, COALESCE(m.seq, 0), ` + oldChangeRef + `
			FROM ` + oldChanges.Name + ` JOIN tasks t ON t.id = c.task_id
			WHERE c.task_id = ? AND c.rev ` + condition, []any{id, last}},
		moveStatement{`DELETE FROM old_changes WHERE task_id = ? AND rev ` + condition, []any{id, last}})
}

func (s *Store) moveMessages(ctx context.Context, id, condition string, last any) (int64, error) {
	return s.moveFrom(ctx, id,
		moveStatement{`INSERT INTO log (task_no, created_at, epoch, event_seq, seq, rev, late, type, event_id, turn_id,
				id, role, status, tool_call_id, phase, body_hash, body, message, artifacts)
			SELECT t.no, m.created_at, e.epoch, e.seq, m.seq, m.rev, COALESCE(e.late, FALSE), COALESCE(e.type, ''),
				e.event_id, m.turn_id,
				m.id, m.role, m.status, m.tool_call_id, NULLIF(m.phase, ''), NULLIF(m.body_hash, ''), e.body,
				CASE WHEN e.type = 'text' THEN NULL ELSE NULLIF(m.message, '') END, NULLIF(m.artifacts, '[]')
			FROM old_messages m JOIN tasks t ON t.id = m.task_id
			LEFT JOIN old_events e ON e.task_id = m.task_id AND e.event_id = m.event_id AND m.event_id <> ''
			WHERE m.task_id = ? AND m.seq ` + condition, []any{id, last}},
		moveStatement{
			`DELETE FROM old_events WHERE task_id = ? AND event_id IN (
			SELECT event_id FROM old_messages WHERE task_id = ? AND seq ` + condition + ` AND event_id <> '')`,
			[]any{id, id, last},
		},
		moveStatement{`DELETE FROM old_messages WHERE task_id = ? AND seq ` + condition, []any{id, last}})
}

// moveEvents moves events that left no message.
func (s *Store) moveEvents(ctx context.Context, id, condition string, last any) (int64, error) {
	return s.moveFrom(ctx, id,
		moveStatement{`INSERT INTO log (task_no, created_at, epoch, event_seq, late, type, event_id, turn_id, body)
			SELECT t.no, e.received_at, e.epoch, e.seq, e.late, e.type, e.event_id, e.turn_id, e.body
			FROM old_events e JOIN tasks t ON t.id = e.task_id
			WHERE e.task_id = ? AND e.event_id ` + condition, []any{id, last}},
		moveStatement{`DELETE FROM old_events WHERE task_id = ? AND event_id ` + condition, []any{id, last}})
}

type moveStatement struct {
	sql  string
	args []any
}

// moveFrom runs the statements of a move and returns how many rows the last one, a
// DELETE, removed.
func (s *Store) moveFrom(ctx context.Context, id string, statements ...moveStatement) (int64, error) {
	var last *gorm.DB
	for _, st := range statements {
		if last = s.conn(ctx).Exec(st.sql, st.args...); last.Error != nil {
			return 0, database.Fault(last.Error, "Task", id)
		}
	}
	return last.RowsAffected, nil
}
