package store

import (
	"context"

	"bellhop/internal/database"
)

func (s *Store) CountTasks(ctx context.Context, userID string) (n int, err error) {
	err = s.conn(ctx).Raw(`SELECT COUNT(*) FROM tasks WHERE user_id = ? AND deleted_at IS NULL`, userID).Row().Scan(&n)
	return n, database.Fault(err, "Tasks of user", userID)
}

// StoredBytes reads all messages and events of the user.
func (s *Store) StoredBytes(ctx context.Context, userID string) (n int64, err error) {
	err = s.conn(ctx).Raw(`SELECT COALESCE(SUM(COALESCE(octet_length(message), 0) +
			COALESCE(octet_length(CAST(artifacts AS text)), 0) + COALESCE(octet_length(body), 0)), 0)
		FROM log WHERE task_no IN (SELECT no FROM tasks WHERE user_id = ? AND deleted_at IS NULL)`, userID).Row().Scan(&n)
	return n, database.Fault(err, "Messages of user", userID)
}
