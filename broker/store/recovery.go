package store

import (
	"context"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

func (s *Store) OwnHosts(ctx context.Context) ([]broker.Task, error) {
	return database.Find(ctx, s.db, tasks, "Tasks with hosts of their own", "", `WHERE id IN (
		SELECT min(id) FROM tasks WHERE host_id IS NULL AND agent_url <> '' AND host_events = TRUE AND deleted_at IS NULL
		GROUP BY agent_url, guarded)`)
}

// TasksAfter returns the tasks behind a No, ascending, deleted ones too.
func (s *Store) TasksAfter(ctx context.Context, no int64, limit int) ([]broker.Task, error) {
	return database.Find(ctx, s.db, tasks, "Tasks", "", "WHERE no > ? ORDER BY no LIMIT ?", no, limit)
}

func (s *Store) TaskIDs(ctx context.Context, hostID, agentURL string) ([]string, error) {
	where, value := "host_id = ?", hostID
	if hostID == "" {
		where, value = "host_id IS NULL AND agent_url = ?", agentURL
	}
	ids := []string{}
	err := s.conn(ctx).Raw(`SELECT id FROM tasks WHERE `+where+` AND deleted_at IS NULL ORDER BY id`,
		value).Scan(&ids).Error
	return ids, database.Fault(err, "Tasks of host", value)
}

// cursors has the columns of a task's position.
var cursors = table.New("tasks", tasks.Pick("id", "epoch", "seq")...)

func (s *Store) Cursors(ctx context.Context, taskIDs []string) (map[string]protocol.Cursor, error) {
	found, err := database.Find(ctx, s.db, cursors, "Cursors", "", "WHERE id IN ?", taskIDs)
	if err != nil {
		return nil, err
	}
	all := make(map[string]protocol.Cursor, len(found))
	for i := range found {
		all[found[i].ID] = found[i].Cursor
	}
	return all, nil
}
