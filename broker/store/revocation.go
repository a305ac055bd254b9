package store

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
)

const revocationOf = "Revocation of streams"

// A host owes the end of all stream tokens of a task's session, or of those of one credential in all
// sessions. The table revocations has the former, which brokers of earlier versions know, and
// ended_credentials the latter.
const owedRevocations = `(
	SELECT task_id, '' AS credential, NULL AS host_id, due_at, attempts, expires_at FROM revocations WHERE due_at <= ?
	UNION ALL
	SELECT task_id, credential, host_id, due_at, attempts, expires_at FROM ended_credentials WHERE due_at <= ?
)`

// revocations has the rows of both tables with the hosts of their tasks.
var revocations = table.New(owedRevocations+" r JOIN tasks t ON t.id = r.task_id",
	table.Text("r.task_id", func(r *broker.Revocation) *string { return &r.TaskID }),
	table.Text("r.credential", func(r *broker.Revocation) *string { return &r.Credential }),
	table.OptionalText("COALESCE(r.host_id, t.host_id)", func(r *broker.Revocation) *string { return &r.HostID }),
	table.Text("t.agent_url", func(r *broker.Revocation) *string { return &r.AgentURL }),
	table.Time("r.due_at", func(r *broker.Revocation) *time.Time { return &r.DueAt }),
	table.Integer("r.attempts", func(r *broker.Revocation) *int { return &r.Attempts }),
	table.Time("r.expires_at", func(r *broker.Revocation) *time.Time { return &r.ExpiresAt }),
)

// oweRevocations adds the user's tasks whose hosts may have a session. A basic host cannot revoke.
func (s *Store) oweRevocations(ctx context.Context, userID string, now time.Time) error {
	_, err := s.db.Exec(ctx, revocationOf, userID, `INSERT INTO revocations (task_id, due_at, attempts, expires_at)
		SELECT id, ?, 0, ? FROM tasks
		WHERE user_id = ? AND deleted_at IS NULL AND (host_events OR epoch > 0 OR seq > 0)
		ON CONFLICT (task_id) DO UPDATE
		SET due_at = excluded.due_at, attempts = 0, expires_at = excluded.expires_at`,
		now.UTC(), now.Add(broker.RevocationLife).UTC(), userID)
	return err
}

// oweCredential adds the end of a credential for each host that may have issued stream tokens to it.
// One task stands for each registered host; a task with a URL of its own has its own password.
func (s *Store) oweCredential(ctx context.Context, userID, credential string, now time.Time) error {
	_, err := s.db.Exec(ctx, revocationOf, userID, `INSERT INTO ended_credentials
		(task_id, credential, host_id, due_at, attempts, expires_at)
		SELECT MIN(id), ?, MIN(host_id), ?, 0, ? FROM tasks
		WHERE user_id = ? AND deleted_at IS NULL AND host_credentials 
		GROUP BY host_id, CASE WHEN host_id IS NULL THEN id END
		ON CONFLICT (task_id, credential) DO UPDATE
		SET due_at = excluded.due_at, attempts = 0, expires_at = excluded.expires_at`,
		credential, now.UTC(), now.Add(broker.RevocationLife).UTC(), userID)
	return err
}

// DueRevocations implements broker.RevocationStore.
func (s *Store) DueRevocations(ctx context.Context, now time.Time, limit int) ([]broker.Revocation, error) {
	return database.Find(ctx, s.db, revocations, "Due revocations of streams", "",
		"ORDER BY r.due_at, r.task_id, r.credential LIMIT ?", now.UTC(), now.UTC(), limit)
}

// owed returns the table that has a revocation, and the condition that selects it there.
func owed(r *broker.Revocation) (table, where string, args []any) {
	if r.Credential == "" {
		return "revocations", " WHERE task_id = ?", []any{r.TaskID}
	}
	return "ended_credentials", " WHERE task_id = ? AND credential = ?", []any{r.TaskID, r.Credential}
}

// ClaimRevocation implements broker.RevocationStore.
func (s *Store) ClaimRevocation(ctx context.Context, r *broker.Revocation, next time.Time) (bool, error) {
	table, where, args := owed(r)
	args = append(append([]any{next.UTC()}, args...), r.Attempts, r.DueAt.UTC())
	n, err := s.db.Exec(ctx, revocationOf, r.TaskID,
		"UPDATE "+table+" SET attempts = attempts + 1, due_at = ?"+where+" AND attempts = ? AND due_at = ?", args...)
	if err != nil || n == 0 {
		return false, err
	}
	r.Attempts++
	return true, nil
}

// SettleRevocation implements broker.RevocationStore.
func (s *Store) SettleRevocation(ctx context.Context, r *broker.Revocation) error {
	table, where, args := owed(r)
	_, err := s.db.Exec(ctx, revocationOf, r.TaskID, "DELETE FROM "+table+where+" AND attempts = ?",
		append(args, r.Attempts)...)
	return err
}

// DelayRevocations implements broker.RevocationStore.
func (s *Store) DelayRevocations(ctx context.Context, host string, at time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		for _, delay := range []string{
			`UPDATE revocations SET due_at = ? WHERE due_at < ? AND (
				SELECT COALESCE(t.host_id, t.agent_url) FROM tasks t WHERE t.id = revocations.task_id) = ?`,
			`UPDATE ended_credentials SET due_at = ? WHERE due_at < ? AND (
				SELECT COALESCE(ended_credentials.host_id, t.host_id, t.agent_url) FROM tasks t
				WHERE t.id = ended_credentials.task_id) = ?`,
		} {
			if _, err := s.db.Exec(ctx, revocationOf, host, delay, at.UTC(), at.UTC(), host); err != nil {
				return err
			}
		}
		return nil
	})
}
