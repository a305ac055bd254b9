package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// A host owes the end of a session whose task was deleted, until it confirms the end. The
// table session_ends has a row for each.
const (
	endOf      = "End of session"
	endsOfHost = "Ends of sessions on host"

	// ownedByHost begins a condition. The statement that uses it adds a condition about t, and
	// closes the parenthesis.
	ownedByHost = `EXISTS (SELECT 1 FROM tasks t WHERE t.id = session_ends.task_id AND `
)

// ends has the rows of session_ends with the hosts of their tasks.
var ends = table.New("session_ends e JOIN tasks t ON t.id = e.task_id",
	table.Text("e.task_id", func(e *broker.SessionEnd) *string { return &e.TaskID }),
	table.OptionalText("t.host_id", func(e *broker.SessionEnd) *string { return &e.HostID }),
	table.Text("t.agent_url", func(e *broker.SessionEnd) *string { return &e.AgentURL }),
	table.Time("e.since", func(e *broker.SessionEnd) *time.Time { return &e.Since }),
	table.Time("e.due_at", func(e *broker.SessionEnd) *time.Time { return &e.DueAt }),
	table.Integer("e.attempts", func(e *broker.SessionEnd) *int { return &e.Attempts }),
	table.Text("e.failure", func(e *broker.SessionEnd) *string { return &e.Failure }),
	table.Text("e.confirmed", func(e *broker.SessionEnd) *string { return &e.Confirmed }),
)

func (s *Store) AddOwedEnd(ctx context.Context, end *broker.SessionEnd) error {
	_, err := s.db.Exec(ctx, endOf, end.TaskID, `INSERT INTO session_ends (task_id, since, due_at, attempts, failure, confirmed)
		VALUES (?, ?, ?, ?, '', ?) ON CONFLICT (task_id) DO UPDATE SET due_at = excluded.due_at`,
		end.TaskID, end.Since.UTC(), end.DueAt.UTC(), end.Attempts, end.Confirmed)
	return err
}

func (s *Store) DueEnds(ctx context.Context, now time.Time, limit int) ([]broker.SessionEnd, error) {
	return database.Find(ctx, s.db, ends, "Due ends of sessions", "",
		"WHERE e.due_at <= ? ORDER BY e.due_at, e.task_id LIMIT ?", now.UTC(), limit)
}

// OwedEnds returns the ends that hosts have not confirmed, the oldest first.
func (s *Store) OwedEnds(ctx context.Context, limit int) ([]broker.SessionEnd, error) {
	return database.Find(ctx, s.db, ends, "Owed ends of sessions", "", "ORDER BY e.since, e.task_id LIMIT ?", limit)
}

func (s *Store) ClaimEnd(ctx context.Context, end *broker.SessionEnd, next time.Time) (bool, error) {
	n, err := s.db.Exec(ctx, endOf, end.TaskID, `UPDATE session_ends SET attempts = attempts + 1, due_at = ?
		WHERE task_id = ? AND attempts = ? AND due_at = ?`, next.UTC(), end.TaskID, end.Attempts, end.DueAt.UTC())
	return n == 1, err
}

// maxFailure limits the text of a failure, in characters.
const maxFailure = 500

func (s *Store) FailEnd(ctx context.Context, taskID, failure string) error {
	text := []rune(protocol.SanitizeText(failure))
	_, err := s.db.Exec(ctx, endOf, taskID, `UPDATE session_ends SET failure = ? WHERE task_id = ?`,
		string(text[:min(len(text), maxFailure)]), taskID)
	return err
}

func (s *Store) SettleEnd(ctx context.Context, taskID string) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		if _, err := s.db.Exec(ctx, endOf, taskID, `DELETE FROM session_ends WHERE task_id = ?`, taskID); err != nil {
			return err
		}
		_, err := s.db.Exec(ctx, "Task", taskID,
			`UPDATE tasks SET host_id = NULL WHERE id = ? AND deleted_at IS NOT NULL`, taskID)
		return err
	})
}

// DelayEnds looks up the task of each row of session_ends,
// because that table is small and the one of tasks is not.
func (s *Store) DelayEnds(ctx context.Context, host string, at time.Time) error {
	_, err := s.db.Exec(ctx, endsOfHost, host, `UPDATE session_ends SET due_at = ? WHERE due_at < ? AND `+
		`(SELECT COALESCE(t.host_id, t.agent_url) FROM tasks t WHERE t.id = session_ends.task_id) = ?`,
		at.UTC(), at.UTC(), host)
	return err
}

func (s *Store) HastenEnds(ctx context.Context, hostID string, at time.Time) error {
	_, err := s.db.Exec(ctx, endsOfHost, hostID, `UPDATE session_ends SET due_at = ? WHERE due_at > ? AND `+
		ownedByHost+`t.host_id = ?)`, at.UTC(), at.UTC(), hostID)
	return err
}
