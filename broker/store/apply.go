package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
)

// Apply implements broker.UpdateStore. The transaction in ctx must have locked the
// task's row.
func (s *Store) Apply(ctx context.Context, b *broker.Batch) error {
	statements, err := statementsOf(b)
	if err != nil {
		return err
	}
	if s.postgres() {
		statements = []table.Statement{joined(statements)}
	}
	for _, st := range statements {
		err := s.conn(ctx).Exec(st.SQL, st.Args...).Error
		if errors.Is(err, gorm.ErrDuplicatedKey) && len(b.Events)+len(b.MovedEvents) > 0 {
			return fmt.Errorf("task %s: %w", b.Task.ID, broker.ErrTaken)
		}
		if err != nil {
			return database.Fault(err, "Task", b.Task.ID)
		}
	}
	return nil
}

// joined combines statements into one. The parts do not see each other's changes.
func joined(all []table.Statement) table.Statement {
	last := all[len(all)-1]
	var sql strings.Builder
	var args []any
	for i, st := range all[:len(all)-1] {
		if i == 0 {
			sql.WriteString("WITH ")
		} else {
			sql.WriteString(", ")
		}
		fmt.Fprintf(&sql, "s%d AS (%s)", i, st.SQL)
		args = append(args, st.Args...)
	}
	sql.WriteString(" " + last.SQL)
	return table.Statement{SQL: sql.String(), Args: append(args, last.Args...)}
}

// statementsOf returns the statements that write b; the last one updates the task's
// row.
func statementsOf(b *broker.Batch) ([]table.Statement, error) {
	rows, moved, err := logRows(b)
	if err != nil {
		return nil, err
	}
	var all []table.Statement
	add := func(st table.Statement) {
		if st.SQL != "" {
			all = append(all, st)
		}
	}
	add(logTable.Insert(rows...))
	for i := range moved {
		add(moved[i].move())
	}
	for i := range b.ChangedMessages {
		add(changedMessages.Update(&logRow{taskNo: b.Task.No, message: b.ChangedMessages[i]}))
	}
	add(turns.Upsert(b.Turns...))
	add(interactions.Upsert(b.Interactions...))
	add(changeRanges.Insert(rangesOf(b)...))
	add(auditLog.Insert(b.Audit...))
	return append(all, writtenTasks.Update(b.Task)), nil
}
