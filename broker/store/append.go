package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/protocol"
)

// Appends implements broker.AppendStore. On SQLite a single statement saves
// nothing, because there is no round trip to a server.
func (s *Store) Appends() bool { return s.postgres() }

// Append implements broker.AppendStore. Concurrent requests share a statement
// and its commit, so it must not be called inside a Write.
func (s *Store) Append(ctx context.Context, rev int64, cursor protocol.Cursor, b *broker.Batch) (bool, error) {
	return s.commits.do(ctx, &appendRequest{rev: rev, cursor: cursor, batch: b}, s.flush)
}

var (
	// appendedTask has the columns of a task that Append writes.
	appendedTask = tasks.Pick("epoch", "seq", "rev", "last_seq", "last_activity_at", "last_event_at", "changed_at")

	// wantedTask has the state that a task must be in, and its state afterwards.
	wantedTask = slices.Concat([]table.Column[appendRequest]{
		table.Text("id", func(a *appendRequest) *string { return &a.batch.Task.ID }),
		table.Integer("was_rev", func(a *appendRequest) *int64 { return &a.rev }),
		table.Integer("was_epoch", func(a *appendRequest) *int64 { return &a.cursor.Epoch }),
		table.Integer("was_seq", func(a *appendRequest) *int64 { return &a.cursor.Seq }),
	}, table.Lift(appendedTask, func(a *appendRequest) *broker.Task { return a.batch.Task }))

	firstEvent   = 1 + len(wantedTask)
	firstMessage = firstEvent + len(events.Columns)
	firstChange  = firstMessage + len(messages.Columns)
	appendArity  = firstChange + len(changes.Columns) - 1
)

// appendSQL takes each column of all rows as one array, so the text is the same
// for any number of rows and stays prepared. Tasks are locked in the order of
// their ids, so two replicas cannot deadlock; a task that another transaction has
// locked is left out. The plan must not depend on how many tasks there were when
// it was made: MATERIALIZED and LATERAL keep it at one index lookup per task.
var appendSQL = `WITH wanted AS MATERIALIZED (
	SELECT * FROM ` + table.Unnest("w", 1, wantedTask) + ` ORDER BY id
), locked AS MATERIALIZED (
	SELECT w.* FROM wanted w CROSS JOIN LATERAL (
		SELECT t.id FROM tasks t
		WHERE t.id = w.id AND t.rev = w.was_rev AND t.epoch = w.was_epoch AND t.seq = w.was_seq AND t.deleted_at IS NULL
		FOR NO KEY UPDATE SKIP LOCKED
	) t
), moved AS (
	UPDATE tasks t SET ` + table.Assignments("l", appendedTask) + ` FROM locked l WHERE t.id = l.id
), new_events AS (` + insertLocked(events, firstEvent) + `
), new_messages AS (` + insertLocked(messages, firstMessage) + `
), new_changes AS (` + insertLocked(changes, firstChange) + `
)
SELECT id FROM locked`

// insertLocked inserts the rows whose task is locked; $first is the parameter
// number of their first array.
func insertLocked[R any](t *table.Table[R], first int) string {
	return `
	INSERT INTO ` + t.Name + ` (` + table.Names("", t.Columns) + `)
	SELECT r.* FROM ` + table.Unnest("r", first, t.Columns) + `
	WHERE r.task_id IN (SELECT id FROM locked)`
}

const uniqueViolation = "23505"

// appendGroup writes requests of different tasks and returns the ids of the tasks
// that were written.
func (s *Store) appendGroup(ctx context.Context, group []*appendRequest) (map[string]bool, error) {
	// gorm would expand an array into a list of values.
	rows, err := s.conn(ctx).Statement.ConnPool.QueryContext(ctx, appendSQL, appendArgs(group)...)
	if err == nil {
		var done map[string]bool
		if done, err = idsOf(rows); err == nil {
			return done, nil
		}
	}
	if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) && pg.Code == uniqueViolation {
		return nil, fmt.Errorf("append: %w", broker.ErrTaken)
	}
	return nil, database.Fault(err, "Events of tasks", "")
}

func idsOf(rows *sql.Rows) (map[string]bool, error) {
	defer rows.Close()
	ids := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids[id] = true
	}
	return ids, rows.Err()
}

func appendArgs(group []*appendRequest) []any {
	var newEvents []*broker.StoredEvent
	var newMessages []*broker.Message
	var newChanges []*change
	for _, a := range group {
		for i := range a.batch.Events {
			newEvents = append(newEvents, &a.batch.Events[i])
		}
		for i := range a.batch.NewMessages {
			newMessages = append(newMessages, &a.batch.NewMessages[i])
		}
		for _, ref := range a.batch.Changes {
			newChanges = append(newChanges, &change{taskID: a.batch.Task.ID, ref: ref})
		}
	}
	args := database.AppendArrays(make([]any, 0, appendArity), wantedTask, group)
	args = database.AppendArrays(args, events.Columns, newEvents)
	args = database.AppendArrays(args, messages.Columns, newMessages)
	return database.AppendArrays(args, changes.Columns, newChanges)
}
