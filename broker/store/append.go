package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/protocol"
)

// Appends implements broker.AppendStore. SQLite has no way to a server that
// one statement could spare.
func (s *Store) Appends() bool { return s.postgres() }

// Append implements broker.AppendStore. The update of the task's row comes
// first and is its lock: every other part of the statement reads from it, and
// where it finds no row there is nothing to write.
func (s *Store) Append(ctx context.Context, rev int64, cursor protocol.Cursor, b *broker.Batch) (bool, error) {
	added, err := insertMessages(b.NewMessages)
	if err != nil {
		return false, err
	}
	parts := []statement{
		{
			sql: `UPDATE tasks SET epoch = ?, seq = ?, rev = ?, last_seq = ?, last_activity_at = ?, last_event_at = ?, changed_at = ?
				WHERE id = ? AND rev = ? AND epoch = ? AND seq = ? AND deleted_at IS NULL RETURNING id`,
			args: []any{
				b.Task.Cursor.Epoch, b.Task.Cursor.Seq, b.Task.Rev, b.Task.LastSeq, b.Task.LastActivityAt.UTC(),
				utc(b.Task.LastEventAt), b.Task.ChangedAt.UTC(), b.Task.ID, rev, cursor.Epoch, cursor.Seq,
			},
		},
	}
	for _, st := range []statement{
		insertEvents(b.Events).dependent(eventTypes),
		added.dependent(messageTypes),
		insertChanges(b.Task.ID, b.Changes).dependent(changeTypes),
	} {
		if st.sql != "" {
			parts = append(parts, st)
		}
	}
	one := joined(parts)
	result := s.conn(ctx).Exec(one.sql, one.args...)
	if errors.Is(result.Error, gorm.ErrDuplicatedKey) {
		return false, fmt.Errorf("task %s: %w", b.Task.ID, broker.ErrTaken)
	}
	return result.RowsAffected > 0, database.Fault(result.Error, "Task", b.Task.ID)
}

const (
	eventTypes   = "text text bigint bigint text text text text boolean timestamptz"
	messageTypes = "text text bigint bigint text text text text text text text text text timestamptz"
	changeTypes  = "text bigint text text"
)

// dependent turns an insert of values into one of the same values for every
// row of the statement's first part, which is one or none.
func (st statement) dependent(types string) statement {
	if st.sql == "" {
		return st
	}
	head, values, _ := strings.Cut(st.sql, " VALUES ")
	var sql strings.Builder
	sql.WriteString(head + " SELECT v.* FROM s0 CROSS JOIN (VALUES ")
	names := strings.Fields(types)
	n := 0
	for _, c := range values {
		sql.WriteRune(c)
		if c == '?' { // a value in VALUES takes its type from no column
			sql.WriteString("::" + names[n%len(names)])
			n++
		}
	}
	sql.WriteString(") v")
	return statement{sql: sql.String(), args: st.args}
}
