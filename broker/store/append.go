package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

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
	rows, _, err := logRows(b)
	if err != nil {
		return false, err
	}
	return s.commits.do(ctx, &appendRequest{rev: rev, cursor: cursor, batch: b, rows: rows}, s.flush)
}

var (
	// appendedTask has the columns of a task that Append writes, but for the times.
	appendedTask = tasks.Pick("epoch", "seq", "rev", "last_seq")

	// wantedTask has the state that a task must be in, and its state afterwards.
	wantedTask = slices.Concat([]table.Column[appendRequest]{
		table.Integer("no", func(a *appendRequest) *int64 { return &a.batch.Task.No }),
		table.Integer("was_rev", func(a *appendRequest) *int64 { return &a.rev }),
		table.Integer("was_epoch", func(a *appendRequest) *int64 { return &a.cursor.Epoch }),
		table.Integer("was_seq", func(a *appendRequest) *int64 { return &a.cursor.Seq }),
		table.Time("at", func(a *appendRequest) *time.Time { return &a.batch.Task.ChangedAt }),
	}, table.Lift(appendedTask, func(a *appendRequest) *broker.Task { return a.batch.Task }))

	// appendedRow has the columns that differ between the texts of a statement.
	appendedRow = logTable.Pick("task_no", "event_id", "epoch", "event_seq", "turn_id", "body", "seq", "rev", "id")

	// appendedWords come as text, because the driver does not know arrays of words.
	appendedWords = []table.Column[logRow]{{Name: "words", Type: "text", Value: func(r *logRow) any { return r.words() }}}
	appendedRows  = slices.Concat(appendedRow, appendedWords)

	firstRow    = 1 + len(wantedTask)
	appendArity = len(wantedTask) + len(appendedRows)
)

// appendSQL takes each column of all rows as one array, so the text is the same
// for any number of rows and stays prepared. Tasks are locked in the order of
// their numbers, so two replicas cannot deadlock; a task that another transaction has
// locked is left out. The plan must not depend on how many tasks there were when
// it was made: MATERIALIZED and LATERAL keep it at one index lookup per task. All
// changes of a task are one range, since each text is one message and one change.
var appendSQL = sync.OnceValue(func() string {
	return `WITH wanted AS MATERIALIZED (
	SELECT * FROM ` + table.Unnest("w", 1, wantedTask) + ` ORDER BY no
), locked AS MATERIALIZED (
	SELECT w.* FROM wanted w CROSS JOIN LATERAL (
		SELECT t.no FROM tasks t
		WHERE t.no = w.no AND t.rev = w.was_rev AND t.epoch = w.was_epoch AND t.seq = w.was_seq AND t.deleted_at IS NULL
		FOR NO KEY UPDATE SKIP LOCKED
	) t
), moved AS (
	UPDATE tasks t SET ` + table.Assignments("l", appendedTask) + `,
		last_activity_at = l.at, last_event_at = l.at, changed_at = l.at
	FROM locked l WHERE t.no = l.no
), new_rows AS (
	INSERT INTO log (` + table.Names("", appendedRow) + `, words, created_at, late, type, role, status)
	SELECT ` + table.Names("r.", appendedRow) + `, r.words::tsvector, l.at, FALSE, 'text', 'ASSISTANT', 'SENT'
	FROM ` + table.Unnest("r", firstRow, appendedRows) + `
	JOIN locked l ON l.no = r.task_no
), new_changes AS (
	INSERT INTO change_ranges (task_no, rev, n, kind, seq)
	SELECT no, was_rev + 1, rev - was_rev, 'message', last_seq - (rev - was_rev) + 1 FROM locked
)
SELECT no FROM locked`
})

const uniqueViolation = "23505"

// appendGroup writes requests of different tasks and returns the numbers of the
// tasks that were written.
func (s *Store) appendGroup(ctx context.Context, group []*appendRequest) (map[int64]bool, error) {
	// gorm would expand an array into a list of values.
	rows, err := s.conn(ctx).Statement.ConnPool.QueryContext(ctx, appendSQL(), appendArgs(group)...)
	if err == nil {
		var done map[int64]bool
		if done, err = numbersOf(rows); err == nil {
			return done, nil
		}
	}
	if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) && pg.Code == uniqueViolation {
		return nil, fmt.Errorf("append: %w", broker.ErrTaken)
	}
	return nil, database.Fault(err, "Events of tasks", "")
}

func numbersOf(rows *sql.Rows) (map[int64]bool, error) {
	defer rows.Close()
	numbers := map[int64]bool{}
	for rows.Next() {
		var no int64
		if err := rows.Scan(&no); err != nil {
			return nil, err
		}
		numbers[no] = true
	}
	return numbers, rows.Err()
}

func appendArgs(group []*appendRequest) []any {
	var rows []*logRow
	for _, a := range group {
		for i := range a.rows {
			rows = append(rows, &a.rows[i])
		}
	}
	args := database.AppendArrays(make([]any, 0, appendArity), wantedTask, group)
	return database.AppendArrays(args, appendedRows, rows)
}
