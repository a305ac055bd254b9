package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"bellhop/broker"
	"bellhop/internal/database"
)

// Apply implements broker.BatchStore. The task's row must be locked by the
// transaction in ctx.
func (s *Store) Apply(ctx context.Context, b *broker.Batch) error {
	statements, err := statementsOf(b)
	if err != nil {
		return err
	}
	if s.postgres() {
		statements = []statement{joined(statements)}
	}
	for _, st := range statements {
		err := s.conn(ctx).Exec(st.sql, st.args...).Error
		if errors.Is(err, gorm.ErrDuplicatedKey) && len(b.Events) > 0 {
			return fmt.Errorf("task %s: %w", b.Task.ID, broker.ErrTaken)
		}
		if err != nil {
			return database.Fault(err, "Task", b.Task.ID)
		}
	}
	return nil
}

type statement struct {
	sql  string
	args []any
}

// joined makes one statement of several that do not see each other's rows.
func joined(all []statement) statement {
	last := all[len(all)-1]
	var sql strings.Builder
	var args []any
	for i, st := range all[:len(all)-1] {
		if i == 0 {
			sql.WriteString("WITH ")
		} else {
			sql.WriteString(", ")
		}
		fmt.Fprintf(&sql, "s%d AS (%s)", i, st.sql)
		args = append(args, st.args...)
	}
	sql.WriteString(" " + last.sql)
	return statement{sql: sql.String(), args: append(args, last.args...)}
}

// statementsOf ends with the task's own row.
func statementsOf(b *broker.Batch) ([]statement, error) {
	var all []statement
	add := func(st statement) {
		if st.sql != "" {
			all = append(all, st)
		}
	}
	add(insertEvents(b.Events))
	added, err := insertMessages(b.NewMessages)
	if err != nil {
		return nil, err
	}
	add(added)
	for i := range b.ChangedMessages {
		changed, err := updateMessage(&b.ChangedMessages[i])
		if err != nil {
			return nil, err
		}
		add(changed)
	}
	add(upsertTurns(b.Turns))
	questions, err := upsertInteractions(b.Interactions)
	if err != nil {
		return nil, err
	}
	add(questions)
	add(insertChanges(b.Task.ID, b.Changes))
	task, err := updateTask(b.Task)
	if err != nil {
		return nil, err
	}
	return append(all, task), nil
}

// insert builds a statement of several rows; suffix may be an ON CONFLICT.
func insert(table, columns, suffix string, rows [][]any) statement {
	if len(rows) == 0 {
		return statement{}
	}
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", len(rows[0])), ",") + ")"
	sql := "INSERT INTO " + table + " (" + columns + ") VALUES " + row + strings.Repeat(","+row, len(rows)-1) + suffix
	args := make([]any, 0, len(rows)*len(rows[0]))
	for _, r := range rows {
		args = append(args, r...)
	}
	return statement{sql: sql, args: args}
}
