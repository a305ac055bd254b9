package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/webhook/outbound"
)

// claimed is a claim that Renew prolongs.
type claimed struct{ id, lease string }

// The columns of the arrays that the statements of this file take.
var (
	claimColumns = []table.Column[claimed]{
		table.Text("id", func(c *claimed) *string { return &c.id }),
		table.Text("lease", func(c *claimed) *string { return &c.lease }),
	}
	orderColumns = []table.Column[outbound.Order]{
		table.Text("endpoint_id", func(o *outbound.Order) *string { return &o.EndpointID }),
		table.Text("order_key", func(o *outbound.Order) *string { return &o.Key }),
	}
	concludedColumns = deliveries.Pick("state", "reason", "attempts", "attempted_at", "next_at", "finished_at")
	conclusionKey    = deliveries.Pick("id", "lease")
	attemptColumns   = attempts.Without("delivery_id")

	// conclusionColumns begins with the key and ends with the attempt, whose number is 0 if
	// there was none.
	conclusionColumns = slices.Concat(
		table.Lift(slices.Concat(conclusionKey, concludedColumns),
			func(c *outbound.Conclusion) *outbound.Delivery { return c.Delivery }),
		table.Lift(attemptColumns, func(c *outbound.Conclusion) *outbound.Attempt { return cmp.Or(c.Attempt, &noAttempt) }),
	)
	noAttempt outbound.Attempt
)

// heldSQL locks the rows of claims w that are still held. It locks them in the order of their ids, so that
// two statements never wait for each other.
const heldSQL = `held AS MATERIALIZED (
		SELECT w.* FROM wanted w CROSS JOIN LATERAL (
			SELECT d.id FROM deliveries d WHERE d.id = w.id AND d.lease = w.lease FOR NO KEY UPDATE) locked)`

var (
	renewSQL = sync.OnceValue(func() string {
		return `WITH wanted AS MATERIALIZED (SELECT * FROM ` + table.Unnest("w", 2, claimColumns) + ` ORDER BY id),
	` + heldSQL + `
	UPDATE deliveries d SET next_at = $1 FROM held h WHERE d.id = h.id RETURNING d.id`
	})

	recordAllSQL = sync.OnceValue(func() string {
		return `WITH wanted AS MATERIALIZED (SELECT * FROM ` + table.Unnest("w", 1, conclusionColumns) + ` ORDER BY id),
	` + heldSQL + `, concluded AS (
		UPDATE deliveries d SET lease = '', ` + table.Assignments("h", concludedColumns) + ` FROM held h WHERE d.id = h.id
	), logged AS (
		INSERT INTO delivery_attempts (delivery_id, ` + table.Names("", attemptColumns) + `)
		SELECT id, ` + table.Names("", attemptColumns) + ` FROM held WHERE number > 0
	)
	SELECT id FROM held`
	})

	recordSQL = sync.OnceValue(func() string {
		return `UPDATE deliveries SET lease = '', ` + table.Settings(concludedColumns) + ` WHERE id = ? AND lease = ?`
	})

	advanceAllSQL = sync.OnceValue(func() string {
		return `UPDATE deliveries d SET next_at = $1, reason = ''
	FROM ` + table.Unnest("o", 3, orderColumns) + ` CROSS JOIN LATERAL (
		SELECT f.id FROM deliveries f WHERE f.endpoint_id = o.endpoint_id AND f.order_key = o.order_key AND f.finished_at IS NULL
		ORDER BY f.position, f.id LIMIT 1) AS first
	WHERE d.id = first.id AND d.state = 'queued' AND d.reason = $2 RETURNING d.id`
	})
)

func (s *Store) Renew(ctx context.Context, claims map[string]string, until time.Time) (held []string, err error) {
	all := make([]claimed, 0, len(claims))
	for _, id := range slices.Sorted(maps.Keys(claims)) {
		all = append(all, claimed{id, claims[id]})
	}
	if s.postgres() {
		return s.ids(ctx, renewSQL(), database.AppendArrays([]any{until.UTC()}, claimColumns, pointers(all)))
	}
	err = s.db.Write(ctx, func(ctx context.Context) error {
		held = nil
		for _, c := range all {
			rows, err := s.db.Exec(ctx, "Delivery", c.id, `UPDATE deliveries SET next_at = ? WHERE id = ? AND lease = ?`,
				until.UTC(), c.id, c.lease)
			if err != nil {
				return err
			}
			if rows > 0 {
				held = append(held, c.id)
			}
		}
		return nil
	})
	return held, err
}

func (s *Store) Record(ctx context.Context, c outbound.Conclusion) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		held, err := s.recordOne(ctx, c)
		if err == nil && !held {
			return outbound.ErrLeaseLost
		}
		return err
	})
}

func (s *Store) recordOne(ctx context.Context, c outbound.Conclusion) (held bool, err error) {
	args := table.AppendValuesOf(nil, concludedColumns, c.Delivery)
	rows, err := s.db.Exec(ctx, "Delivery", c.ID, recordSQL(), table.AppendValuesOf(args, conclusionKey, c.Delivery)...)
	if err != nil || rows == 0 || c.Attempt == nil {
		return rows > 0, err
	}
	return true, s.insertAttempt(ctx, c.Attempt)
}

// RecordAll implements outbound.QueueStore. On PostgreSQL it is one statement, on SQLite one transaction
// with a statement for each delivery.
func (s *Store) RecordAll(ctx context.Context, all []outbound.Conclusion) (held []bool, err error) {
	held = make([]bool, len(all))
	if !s.postgres() {
		return held, s.db.Write(ctx, func(ctx context.Context) (err error) {
			for i, c := range all {
				if held[i], err = s.recordOne(ctx, c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	ids, err := s.ids(ctx, recordAllSQL(), database.AppendArrays(nil, conclusionColumns, pointers(all)))
	if err != nil {
		return nil, err
	}
	recorded := make(map[string]bool, len(ids))
	for _, id := range ids {
		recorded[id] = true
	}
	for i, c := range all {
		held[i] = recorded[c.ID]
	}
	return held, nil
}

// ids runs a statement of PostgreSQL that takes arrays and returns ids. gorm would expand an
// array into a list of values.
func (s *Store) ids(ctx context.Context, sql string, args []any) (ids []string, err error) {
	rows, err := s.conn(ctx).Statement.ConnPool.QueryContext(ctx, sql, args...)
	if err != nil {
		return nil, database.Fault(err, "Deliveries", "")
	}
	found, err := deliveryIDs.Read(rows)
	for _, d := range found {
		ids = append(ids, d.ID)
	}
	return ids, database.Fault(err, "Deliveries", "")
}

func pointers[R any](rows []R) []*R {
	all := make([]*R, len(rows))
	for i := range rows {
		all[i] = &rows[i]
	}
	return all
}
