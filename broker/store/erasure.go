package store

import (
	"context"

	"bellhop/internal/database"
)

func (s *Store) DeletedUsers(ctx context.Context) (ids []string, err error) {
	err = s.conn(ctx).Raw(`SELECT id FROM users WHERE deleted_at IS NOT NULL ORDER BY deleted_at`).Scan(&ids).Error
	return ids, database.Fault(err, "Deleted users", "")
}

func (s *Store) TasksOfUser(ctx context.Context, userID, after string, limit int) (ids []string, err error) {
	err = s.conn(ctx).Raw(`SELECT id FROM tasks WHERE user_id = ? AND deleted_at IS NULL AND id > ? ORDER BY id LIMIT ?`,
		userID, after, limit).Scan(&ids).Error
	return ids, database.Fault(err, "Tasks of user", userID)
}

const (
	connectionsOf = `agent_session_id IN (SELECT id FROM agent_sessions WHERE user_id = ?)`
	fewRows       = 50 // of rows that are large, or have others which foreign keys delete
)

// erasedRows lists the rows of a user, besides tasks and credentials. The foreign keys delete the rows of
// the tables that are not named.
var erasedRows = []database.Chunks{
	{Table: "sources", Key: "id", Where: connectionsOf},
	{Table: "notebooks", Key: "id", Where: "user_id = ?"},
	{Table: "agent_sessions", Key: "id", Where: "user_id = ?"},
	{Table: "task_templates", Key: "id", Where: "owner_id = ?"},
	{Table: "deliveries", Key: "id", Where: "user_id = ?", Rows: 10 * fewRows},
	{Table: "webhook_endpoints", Key: "id", Where: "user_id = ?", Rows: fewRows},
}

// EraseUser implements broker.MaintenanceStore. Rows that cannot be deleted do not stop the deletion of others.
// A request that overlapped with the deletion may have added credentials since.
func (s *Store) EraseUser(ctx context.Context, id string) error {
	var deleted bool
	err := s.conn(ctx).Raw(`SELECT EXISTS (SELECT 1 FROM users WHERE id = ? AND deleted_at IS NOT NULL)`, id).
		Row().Scan(&deleted)
	if err != nil || !deleted {
		return database.Fault(err, "User", id)
	}
	var failures failures
	for _, table := range credentialTables {
		_, err := s.db.Exec(ctx, "User", id, "DELETE FROM "+table+" WHERE user_id = ?", id)
		failures.add(err)
	}
	failures.add(s.eraseSources(ctx, id))
	for _, chunks := range erasedRows {
		chunks.Args = []any{id}
		_, err := s.db.DeleteChunks(ctx, "User", id, chunks)
		failures.add(err)
	}
	return failures.err()
}

// eraseSources deletes the messages and versions of the user's sources in parts, because a source may have more
// of them than a statement can delete.
func (s *Store) eraseSources(ctx context.Context, userID string) error {
	var sources []string
	err := s.conn(ctx).Raw(`SELECT id FROM sources WHERE `+connectionsOf, userID).Scan(&sources).Error
	if err != nil {
		return database.Fault(err, "Sources of user", userID)
	}
	var failures failures
	for _, source := range sources {
		for _, chunks := range []database.Chunks{
			{Table: "source_messages", Key: "seq", Where: "source_id = ?", Args: []any{source}},
			{Table: "source_versions", Key: "version", Where: "source_id = ?", Args: []any{source}},
		} {
			_, err := s.db.DeleteChunks(ctx, "Source", source, chunks)
			failures.add(err)
		}
	}
	return failures.err()
}

func (s *Store) RemoveUser(ctx context.Context, id string) (removed bool, err error) {
	n, err := s.db.Exec(ctx, "User", id, `DELETE FROM users WHERE id = ? AND deleted_at IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM tasks WHERE user_id = users.id)`, id)
	return n > 0, err
}
