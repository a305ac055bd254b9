package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/protocol"
)

// Appends implements broker.AppendStore. SQLite has no way to a server that
// one statement could spare.
func (s *Store) Appends() bool { return s.postgres() }

// Append implements broker.AppendStore. Requests that come while others are
// written share a statement and its commit, so it is never called inside a Write.
func (s *Store) Append(ctx context.Context, rev int64, cursor protocol.Cursor, b *broker.Batch) (bool, error) {
	return s.appends.do(ctx, &appendage{rev: rev, cursor: cursor, batch: b}, s.flush)
}

// appendSQL takes a column of all rows as one array: however many rows there
// are, it is the same statement, and prepared. Tasks are locked in the order of
// their ids, so that two replicas do not wait for each other in a ring, and one
// that is locked by somebody else is left out. The plan must not depend on how
// many tasks there were when it was made: MATERIALIZED and LATERAL keep it at
// one look into an index for each.
const appendSQL = `WITH wanted AS MATERIALIZED (
	SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
		$9::timestamptz[], $10::timestamptz[], $11::timestamptz[])
	AS w (id, was_rev, was_epoch, was_seq, epoch, seq, rev, last_seq, last_activity_at, last_event_at, changed_at) ORDER BY id
), locked AS MATERIALIZED (
	SELECT w.* FROM wanted w CROSS JOIN LATERAL (
		SELECT t.id FROM tasks t
		WHERE t.id = w.id AND t.rev = w.was_rev AND t.epoch = w.was_epoch AND t.seq = w.was_seq AND t.deleted_at IS NULL
		FOR NO KEY UPDATE SKIP LOCKED
	) t
), moved AS (
	UPDATE tasks t SET epoch = l.epoch, seq = l.seq, rev = l.rev, last_seq = l.last_seq,
		last_activity_at = l.last_activity_at, last_event_at = l.last_event_at, changed_at = l.changed_at
	FROM locked l WHERE t.id = l.id
), kept AS (
	INSERT INTO events (task_id, event_id, epoch, seq, turn_id, type, body, digest, late, received_at)
	SELECT e.* FROM unnest($12::text[], $13::text[], $14::bigint[], $15::bigint[], $16::text[], $17::text[], $18::text[], $19::text[],
		$20::boolean[], $21::timestamptz[])
	AS e (task_id, event_id, epoch, seq, turn_id, type, body, digest, late, received_at)
	WHERE e.task_id IN (SELECT id FROM locked)
), shown AS (
	INSERT INTO messages (task_id, id, seq, rev, turn_id, role, status, message, artifacts, event_id, tool_call_id, phase, body_hash, created_at)
	SELECT m.* FROM unnest($22::text[], $23::text[], $24::bigint[], $25::bigint[], $26::text[], $27::text[], $28::text[], $29::text[],
		$30::text[], $31::text[], $32::text[], $33::text[], $34::text[], $35::timestamptz[])
	AS m (task_id, id, seq, rev, turn_id, role, status, message, artifacts, event_id, tool_call_id, phase, body_hash, created_at)
	WHERE m.task_id IN (SELECT id FROM locked)
), told AS (
	INSERT INTO changes (task_id, rev, kind, ref_id)
	SELECT c.* FROM unnest($36::text[], $37::bigint[], $38::text[], $39::text[]) AS c (task_id, rev, kind, ref_id)
	WHERE c.task_id IN (SELECT id FROM locked)
)
SELECT id FROM locked`

const uniqueViolation = "23505"

// appendAll writes a group, in which each task stands once, and names the tasks
// it was done for.
func (s *Store) appendAll(ctx context.Context, group []*appendage) (map[string]bool, error) {
	args, err := appendArgs(group)
	if err != nil {
		return nil, err
	}
	// gorm would take an array for a list of values.
	rows, err := s.conn(ctx).Statement.ConnPool.QueryContext(ctx, appendSQL, args...)
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

func appendArgs(group []*appendage) ([]any, error) {
	var tasks taskArrays
	var events eventArrays
	var messages messageArrays
	var changes changeArrays
	for _, a := range group {
		tasks.add(a)
		for i := range a.batch.Events {
			events.add(&a.batch.Events[i])
		}
		for i := range a.batch.NewMessages {
			if err := messages.add(&a.batch.NewMessages[i]); err != nil {
				return nil, err
			}
		}
		for _, c := range a.batch.Changes {
			changes.add(a.batch.Task.ID, c)
		}
	}
	args := make([]any, 0, 39)
	args = append(args, tasks.args()...)
	args = append(args, events.args()...)
	args = append(args, messages.args()...)
	return append(args, changes.args()...), nil
}
