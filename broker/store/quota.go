package store

import (
	"context"

	"bellhop/internal/database"
)

// CountTasks implements broker.QuotaStore.
func (s *Store) CountTasks(ctx context.Context, userID string) (n int, err error) {
	err = s.conn(ctx).Raw(`SELECT COUNT(*) FROM tasks WHERE user_id = ? AND deleted_at IS NULL`, userID).Row().Scan(&n)
	return n, database.Fault(err, "Tasks of user", userID)
}

// StoredBytes implements broker.QuotaStore. It reads all messages and events of the user.
func (s *Store) StoredBytes(ctx context.Context, userID string) (n int64, err error) {
	const size = `SELECT COALESCE(octet_length(message), 0) + COALESCE(octet_length(CAST(artifacts AS text)), 0)`
	const ofUser = ` t WHERE t.user_id = ? AND t.deleted_at IS NULL)`
	err = s.conn(ctx).Raw(`SELECT COALESCE(SUM(bytes), 0) FROM (
		`+size+` + COALESCE(octet_length(body), 0) AS bytes FROM log WHERE task_no IN (SELECT t.no FROM tasks`+ofUser+`
		UNION ALL `+size+` AS bytes FROM old_messages WHERE task_id IN (SELECT t.id FROM tasks`+ofUser+`) all_of_them`,
		userID, userID).Row().Scan(&n)
	return n, database.Fault(err, "Messages of user", userID)
}
