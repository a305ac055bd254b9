package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
)

// SilentTasks implements broker.MaintenanceStore, in the way of DueTasks.
func (s *Store) SilentTasks(
	ctx context.Context, since time.Time, after string, limit int,
) (ids []string, last string, err error) {
	last, full, err := s.unfinishedPage(ctx, after, limit)
	if err != nil || last == "" {
		return nil, "", err
	}
	err = s.conn(ctx).Raw(`SELECT tasks.id FROM turns CROSS JOIN tasks
		WHERE tasks.id = turns.task_id AND turns.state = 'open' AND turns.task_id > ? AND turns.task_id <= ?
			AND tasks.open_turn = turns.id AND tasks.deleted_at IS NULL AND tasks.host_events = FALSE
			AND tasks.agent_status = 'busy' AND tasks.open_questions = 0
			AND tasks.last_event_at >= turns.announced_at AND tasks.last_event_at <= ?
		ORDER BY 1`, after, last, since.UTC()).Scan(&ids).Error
	if !full {
		last = ""
	}
	return ids, last, database.Fault(err, "Silent tasks", "")
}

// unfinishedPage returns the last task of a page of the turns that are not closed, "" if there are none, and whether
// the page is full.
func (s *Store) unfinishedPage(ctx context.Context, after string, limit int) (last string, full bool, err error) {
	var page []string
	err = s.conn(ctx).Raw(`SELECT task_id FROM turns WHERE state <> 'closed' AND task_id > ? ORDER BY task_id LIMIT ?`,
		after, limit).Scan(&page).Error
	if err != nil || len(page) == 0 {
		return "", false, database.Fault(err, "Due tasks", "")
	}
	return page[len(page)-1], len(page) == limit, nil
}

// DueTasks reads a page of the turns that are not closed, most of which are not
// due, and returns the due tasks of this page. CROSS JOIN makes SQLite begin with the turns.
func (s *Store) DueTasks(
	ctx context.Context, hostEvents bool, when broker.Overdue, after string, limit int,
) (due []broker.DueTask, last string, err error) {
	last, full, err := s.unfinishedPage(ctx, after, limit)
	if err != nil || last == "" {
		return nil, "", err
	}
	err = s.conn(ctx).Raw(`SELECT DISTINCT tasks.id AS id, COALESCE(tasks.host_id, tasks.agent_url) AS host
		FROM turns CROSS JOIN tasks
		WHERE tasks.id = turns.task_id AND turns.state <> 'closed' AND turns.task_id > ? AND turns.task_id <= ?
			AND tasks.deleted_at IS NULL AND tasks.host_events = ? AND (
			turns.state = 'open' AND (tasks.last_event_at IS NULL OR tasks.last_event_at <= ? OR tasks.last_event_at > ?)
			OR turns.state = 'announced' AND turns.announced_at <= ?)
		ORDER BY 1`, after, last, hostEvents, when.Silent.UTC(), when.Future.UTC(), when.Announced.UTC()).Scan(&due).Error
	if !full {
		last = ""
	}
	return due, last, database.Fault(err, "Due tasks", "")
}

// HastenRetries implements broker.MaintenanceStore.
func (s *Store) HastenRetries(ctx context.Context, far, at time.Time) (n int64, err error) {
	for _, table := range []string{"queued_messages", "session_ends", "revocations"} {
		changed, err := s.db.Exec(ctx, "Retries", table, `UPDATE `+table+` SET due_at = ? WHERE due_at > ?`, at.UTC(), far.UTC())
		if n += changed; err != nil {
			return n, err
		}
	}
	return n, nil
}

// maxUnfinished limits the tasks whose hosts are asked for events, when a question is not stored yet.
const maxUnfinished = 16

func (s *Store) UnfinishedTasks(ctx context.Context, userID string) ([]string, error) {
	var ids []string
	err := s.conn(ctx).Raw(`SELECT id FROM tasks WHERE user_id = ? AND deleted_at IS NULL AND EXISTS (
			SELECT 1 FROM turns WHERE turns.task_id = tasks.id AND turns.state <> 'closed')
		ORDER BY last_activity_at DESC LIMIT ?`, userID, maxUnfinished).Scan(&ids).Error
	return ids, database.Fault(err, "Tasks", "")
}
