package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/internal/table"
)

// Announces implements broker.SessionStore. On SQLite a single statement saves nothing,
// because there is no round trip to a server.
func (s *Store) Announces() bool { return s.postgres() }

var (
	// announcedMessage and announcedTurn have the columns whose values are arguments of the
	// statement. The others come from the task's row.
	announcedMessage = slices.Concat(
		logTable.Pick("created_at", "late", "type", "turn_id", "message", "artifacts", "words"),
		logTable.Pick(messageNames("seq", "rev")...))
	announcedTurn = turns.Without("task_id")

	// Numbers of the first parameter ($4) of each.
	firstOfMessage = 4
	firstOfTurn    = firstOfMessage + len(announcedMessage)
)

// announceSQL locks the task's row and takes its next numbers. Its parts do nothing when
// there is no such task.
var announceSQL = sync.OnceValue(func() string {
	return `WITH t AS (
	UPDATE tasks SET rev = rev + 1, last_seq = last_seq + 1, last_activity_at = $3::timestamptz, changed_at = $3::timestamptz
	WHERE id = $1 AND user_id = $2 AND deleted_at IS NULL RETURNING id, no, rev, last_seq
), new_message AS (
	INSERT INTO log (task_no, seq, rev, ` + table.Names("", announcedMessage) + `)
	SELECT no, last_seq, rev, ` + table.Parameters(firstOfMessage, announcedMessage) + ` FROM t
), new_turn AS (
	INSERT INTO turns (task_id, ` + table.Names("", announcedTurn) + `)
	SELECT id, ` + table.Parameters(firstOfTurn, announcedTurn) + ` FROM t
), new_change AS (
	INSERT INTO change_ranges (task_no, rev, n, kind, seq) SELECT no, rev, 1, 'message', last_seq FROM t
)
SELECT rev FROM t`
})

func (s *Store) Announce(ctx context.Context, userID string, m *broker.Message, t *broker.Turn) (int64, error) {
	row := logRow{message: *m, indexed: wordsOf(userID, m.Message.Message)}
	args := []any{m.TaskID, userID, m.CreatedAt.UTC()}
	for i := range announcedMessage {
		args = append(args, announcedMessage[i].Value(&row))
	}
	for i := range announcedTurn {
		args = append(args, announcedTurn[i].Value(t))
	}
	var rev int64
	err := s.conn(ctx).Statement.ConnPool.QueryRowContext(ctx, announceSQL(), args...).Scan(&rev)
	switch pg := (*pgconn.PgError)(nil); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case errors.As(err, &pg) && pg.Code == uniqueViolation:
		return 0, nil
	}
	return rev, database.Fault(err, "Task", m.TaskID)
}
