package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
)

const revocationOf = "Revocation of streams"

// revocations has the rows with the hosts of their tasks.
var revocations = table.New("revocations r JOIN tasks t ON t.id = r.task_id",
	table.Text("r.task_id", func(r *broker.Revocation) *string { return &r.TaskID }),
	table.Text("r.credential", func(r *broker.Revocation) *string { return &r.Credential }),
	table.OptionalText("COALESCE(r.host_id, t.host_id)", func(r *broker.Revocation) *string { return &r.HostID }),
	table.Text("t.agent_url", func(r *broker.Revocation) *string { return &r.AgentURL }),
	table.Time("r.due_at", func(r *broker.Revocation) *time.Time { return &r.DueAt }),
	table.Integer("r.attempts", func(r *broker.Revocation) *int { return &r.Attempts }),
	table.Time("r.expires_at", func(r *broker.Revocation) *time.Time { return &r.ExpiresAt }),
)

// owe adds a revocation for each task that the query selects. It selects task, credential and host.
func (s *Store) owe(ctx context.Context, userID, query string, now time.Time, args ...any) error {
	_, err := s.db.Exec(ctx, revocationOf, userID, `INSERT INTO revocations
		(due_at, attempts, expires_at, task_id, credential, host_id) SELECT ?, 0, ?, `+query+`
		ON CONFLICT (task_id, credential) DO UPDATE
		SET due_at = excluded.due_at, attempts = 0, expires_at = excluded.expires_at`,
		append([]any{now.UTC(), now.Add(broker.RevocationLife).UTC()}, args...)...)
	return err
}

// oweRevocations adds the user's tasks whose hosts may have a session. A basic host cannot revoke.
func (s *Store) oweRevocations(ctx context.Context, userID string, now time.Time) error {
	return s.owe(ctx, userID, `id, '', NULL FROM tasks
		WHERE user_id = ? AND deleted_at IS NULL AND (host_events OR epoch > 0 OR seq > 0)`, now, userID)
}

// oweCredential adds the end of a credential for each host that may have issued stream tokens to it.
// One task stands for each registered host; a task with a URL of its own has its own password.
func (s *Store) oweCredential(ctx context.Context, userID, credential string, now time.Time) error {
	return s.owe(ctx, userID, `MIN(id), ?, MIN(host_id) FROM tasks
		WHERE user_id = ? AND deleted_at IS NULL AND host_credentials
		GROUP BY host_id, CASE WHEN host_id IS NULL THEN id END`, now, credential, userID)
}

func (s *Store) DueRevocations(ctx context.Context, now time.Time, limit int) ([]broker.Revocation, error) {
	return database.Find(ctx, s.db, revocations, "Due revocations of streams", "",
		"WHERE r.due_at <= ? ORDER BY r.due_at, r.task_id, r.credential LIMIT ?", now.UTC(), limit)
}

func (s *Store) ClaimRevocation(ctx context.Context, r *broker.Revocation, next time.Time) (bool, error) {
	n, err := s.db.Exec(ctx, revocationOf, r.TaskID, `UPDATE revocations SET attempts = attempts + 1, due_at = ?
		WHERE task_id = ? AND credential = ? AND attempts = ? AND due_at = ?`,
		next.UTC(), r.TaskID, r.Credential, r.Attempts, r.DueAt.UTC())
	if err != nil || n == 0 {
		return false, err
	}
	r.Attempts++
	return true, nil
}

func (s *Store) SettleRevocation(ctx context.Context, r *broker.Revocation) error {
	_, err := s.db.Exec(ctx, revocationOf, r.TaskID,
		"DELETE FROM revocations WHERE task_id = ? AND credential = ? AND attempts = ?", r.TaskID, r.Credential, r.Attempts)
	return err
}

func (s *Store) DelayRevocations(ctx context.Context, host string, at time.Time) error {
	_, err := s.db.Exec(ctx, revocationOf, host, `UPDATE revocations SET due_at = ? WHERE due_at < ? AND (
		SELECT COALESCE(revocations.host_id, t.host_id, t.agent_url) FROM tasks t
		WHERE t.id = revocations.task_id) = ?`, at.UTC(), at.UTC(), host)
	return err
}
