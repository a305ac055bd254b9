package store

import (
	"context"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
)

// messagesBy reads messages of a task on PostgreSQL by a column whose values are an array, each by its own
// look into the index: the planner takes a task for an average one, and would read all rows of a long task
// instead. OFFSET keeps it from doing so.
var messagesBy = map[string]*table.Table[messageRow]{
	"seq":          lookup("seq", "bigint"),
	"tool_call_id": lookup("tool_call_id", "text"),
}

func lookup(column, kind string) *table.Table[messageRow] {
	return messageRows("unnest(?::"+kind+`[]) AS wanted (value) CROSS JOIN LATERAL (
		SELECT * FROM log WHERE `+ofTask+` AND seq IS NOT NULL AND `+column+` = wanted.value OFFSET 0) AS found`, textBody)
}

// messagesAmong returns the messages of a task with one of these values in a column, by seq. in makes the
// condition for it.
func (s *Store) messagesAmong(
	ctx context.Context, taskID, column string, in func(column string) string, values any,
) ([]broker.Message, error) {
	selected := selection{condition: in(column), args: []any{values}}
	moving, err := s.moving(ctx)
	if err != nil {
		return nil, err
	}
	if moving || !s.postgres() {
		return s.messages(ctx, taskID, selected)
	}
	found, err := database.Find(ctx, s.db, messagesBy[column], "Messages of task", taskID, "ORDER BY seq", values, taskID)
	if err != nil {
		return nil, err
	}
	return read(taskID, found)
}
