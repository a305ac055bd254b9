package store

import (
	"context"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
)

// messagesBy has, for a column, the query for the messages of a task with one of an array of values there. On
// PostgreSQL each value is looked up in the index by itself. The planner expects an average task: without OFFSET
// it would turn the query into one that reads all rows of a long task.
var messagesBy = map[string]*table.Table[messageRow]{
	"seq":          lookup("seq", "bigint"),
	"tool_call_id": lookup("tool_call_id", "text"),
}

func lookup(column, kind string) *table.Table[messageRow] {
	return messageRows("unnest(?::" + kind + `[]) AS wanted (value) CROSS JOIN LATERAL (
		SELECT * FROM log WHERE ` + ofTask + ` AND seq IS NOT NULL AND ` + column + ` = wanted.value OFFSET 0) AS found`)
}

// messagesAmong returns the messages of a task with one of these values in a column, in the order of seq. in
// returns the condition for a query without messagesBy.
func (s *Store) messagesAmong(
	ctx context.Context, taskID, column string, in func(column string) string, values any,
) ([]broker.Message, error) {
	selected := selection{condition: in(column), args: []any{values}}
	if !s.postgres() {
		return s.messages(ctx, taskID, selected)
	}
	found, err := database.Find(ctx, s.db, messagesBy[column], "Messages of task", taskID, "ORDER BY seq", values, taskID)
	if err != nil {
		return nil, err
	}
	return read(taskID, found)
}
