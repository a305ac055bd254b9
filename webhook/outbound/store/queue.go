package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/webhook/outbound"
)

// earlierOpen is true for a delivery d that must wait for an earlier one of its order.
const earlierOpen = `(d.order_key <> '' AND EXISTS (SELECT 1 FROM deliveries p WHERE p.endpoint_id = d.endpoint_id
	AND p.order_key = d.order_key AND p.finished_at IS NULL AND p.position <= d.position
	AND (p.position < d.position OR p.id < d.id)))`

// insertSQL numbers the delivery behind the open ones of its order.
var insertSQL = `INSERT INTO deliveries (position, ` + table.Names("", deliveries.Columns) + `)
	VALUES ((SELECT COALESCE(max(position), 0) + 1 FROM deliveries WHERE endpoint_id = ? AND order_key = ? AND finished_at IS NULL),
	` + deliveries.Placeholders + `) ON CONFLICT (endpoint_id, message_id) DO NOTHING`

var (
	candidatesSQL = candidates.Select(`WHERE d.state = 'queued' AND d.next_at <= ? ORDER BY d.next_at LIMIT ?`)

	// The inner query reads the index alone: skipping the delivery of a busy host costs
	// one index row.
	otherCandidatesSQL = `WITH due AS MATERIALIZED (SELECT * FROM (
			SELECT id, host, endpoint_id, order_key, position, next_at, expires_at FROM deliveries
			WHERE state = 'queued' AND next_at <= ? ORDER BY next_at LIMIT ?) AS first)
		` + otherCandidates.Select(`WHERE d.host NOT IN ? ORDER BY d.next_at LIMIT ?`)

	candidatesOfSQL = `SELECT * FROM (` + candidates.Select(`WHERE d.state = 'queued' AND d.host = ? AND d.next_at <= ?
		ORDER BY d.next_at LIMIT ?`) + `) AS one`

	claimableSQL = `SELECT ` + table.Names("d.", deliveries.Columns) + ` FROM deliveries d
		WHERE d.id IN ? AND d.state = 'queued' AND d.next_at <= ?
		AND (d.expires_at <= ? OR NOT ` + earlierOpen + `) ORDER BY d.next_at, d.id`

	nextDueSQL = nextDue.Select(`WHERE state = 'queued' AND next_at > ? ORDER BY next_at LIMIT 1`)
)

const (
	// dueHostsSQL steps from host to host in the index and never reads all rows of a host.
	dueHostsSQL = `WITH RECURSIVE hosts (host) AS (
			SELECT min(host) FROM deliveries WHERE state = 'queued' AND host > ?
			UNION ALL
			SELECT (SELECT min(d.host) FROM deliveries d WHERE d.state = 'queued' AND d.host > hosts.host)
			FROM hosts WHERE hosts.host IS NOT NULL)
		SELECT host FROM hosts WHERE host IS NOT NULL AND EXISTS (
			SELECT 1 FROM deliveries d WHERE d.state = 'queued' AND d.host = hosts.host AND d.next_at <= ?)
		LIMIT ?`

	claimSQL = `UPDATE deliveries SET lease = ?, reason = '', next_at = ?, attempted_at = ? WHERE id IN ?`

	// The caller adds a lock to the inner query of parkSQL, and closes the parenthesis.
	parkSQL = `UPDATE deliveries SET next_at = ?, reason = ? WHERE id IN (SELECT d.id FROM deliveries d
		WHERE d.id IN ? AND d.state = 'queued' AND d.lease = '' AND d.next_at <= ? AND ` + earlierOpen

	advanceSQL = `UPDATE deliveries SET next_at = ?, reason = '' WHERE id = (SELECT id FROM deliveries
		WHERE endpoint_id = ? AND order_key = ? AND finished_at IS NULL ORDER BY position, id LIMIT 1)
		AND state = 'queued' AND reason = ?`
)

// Insert implements outbound.QueueStore.
func (s *Store) Insert(ctx context.Context, d *outbound.Delivery) (bool, error) {
	row := *d
	row.Attempts, row.Lease, row.AttemptedAt, row.FinishedAt = 0, "", nil, nil
	rows, err := s.db.Exec(ctx, "Delivery", d.ID, insertSQL, deliveries.AppendValues([]any{d.EndpointID, d.OrderKey}, &row)...)
	return rows > 0, err
}

// Candidates implements outbound.QueueStore.
func (s *Store) Candidates(ctx context.Context, now time.Time, limit int) ([]outbound.Delivery, error) {
	return s.query(ctx, candidates, candidatesSQL, now.UTC(), limit)
}

// OtherCandidates implements outbound.QueueStore.
func (s *Store) OtherCandidates(
	ctx context.Context, now time.Time, hosts []string, depth, limit int,
) ([]outbound.Delivery, bool, error) {
	list, err := s.query(ctx, otherCandidates, otherCandidatesSQL, now.UTC(), depth, hosts, limit)
	more := len(list) == 0 || list[0].Attempts == depth // Attempts holds the number of due rows that were read
	return list, more, err
}

// DueHosts implements outbound.QueueStore.
func (s *Store) DueHosts(ctx context.Context, now time.Time, after string, limit int) ([]string, error) {
	var hosts []string
	err := s.conn(ctx).Raw(dueHostsSQL, after, now.UTC(), limit).Scan(&hosts).Error
	return hosts, database.Fault(err, "Due hosts", "")
}

// CandidatesOf implements outbound.QueueStore.
func (s *Store) CandidatesOf(ctx context.Context, now time.Time, hosts []string, perHost int) ([]outbound.Delivery, error) {
	parts := make([]string, len(hosts))
	var args []any
	for i, host := range hosts {
		parts[i] = candidatesOfSQL
		args = append(args, host, now.UTC(), perHost)
	}
	return s.query(ctx, candidates, strings.Join(parts, " UNION ALL "), args...)
}

func (s *Store) query(ctx context.Context, t *table.Table[outbound.Delivery], sql string, args ...any) ([]outbound.Delivery, error) {
	return database.Query(ctx, s.db, t, "Deliveries", "", sql, args...)
}

// Claim implements outbound.QueueStore.
func (s *Store) Claim(ctx context.Context, ids []string, c outbound.Claim) ([]outbound.Delivery, error) {
	var taken []outbound.Delivery
	err := s.db.Write(ctx, func(ctx context.Context) (err error) {
		taken, err = s.query(ctx, deliveries, claimableSQL+s.lock("FOR UPDATE OF d SKIP LOCKED"), ids, c.Now.UTC(), c.Now.UTC())
		if err != nil || len(taken) == 0 {
			return err
		}
		mine := make([]string, len(taken))
		for i := range taken {
			d := &taken[i]
			mine[i] = d.ID
			if err := s.logAbandoned(ctx, d); err != nil {
				return err
			}
			d.Lease, d.NextAt = c.Lease, c.Until
		}
		_, err = s.db.Exec(ctx, "Deliveries", "", claimSQL, c.Lease, c.Until.UTC(), c.Now.UTC(), mine)
		return err
	})
	return taken, err
}

// logAbandoned logs the attempt of a claim that lapsed.
func (s *Store) logAbandoned(ctx context.Context, d *outbound.Delivery) error {
	if d.Lease == "" {
		return nil
	}
	d.Attempts++
	attempt := &outbound.Attempt{DeliveryID: d.ID, Number: d.Attempts, Error: outbound.FaultAbandoned}
	if d.AttemptedAt != nil {
		attempt.At = *d.AttemptedAt
	}
	if err := s.insertAttempt(ctx, attempt); err != nil {
		return err
	}
	_, err := s.db.Exec(ctx, "Delivery", d.ID, `UPDATE deliveries SET attempts = ? WHERE id = ?`, d.Attempts, d.ID)
	return err
}

// Park implements outbound.QueueStore.
func (s *Store) Park(ctx context.Context, ids []string, now, until time.Time) error {
	_, err := s.db.Exec(ctx, "Deliveries", "", parkSQL+s.lock("FOR UPDATE OF d SKIP LOCKED")+`)`,
		until.UTC(), outbound.ReasonWaiting, ids, now.UTC())
	return err
}

// Advance implements outbound.QueueStore.
func (s *Store) Advance(ctx context.Context, endpointID, orderKey string, now time.Time) error {
	_, err := s.db.Exec(ctx, "Deliveries of webhook", endpointID, advanceSQL, now.UTC(), endpointID, orderKey, outbound.ReasonWaiting)
	return err
}

// NextDue implements outbound.QueueStore.
func (s *Store) NextDue(ctx context.Context, now time.Time) (time.Time, bool, error) {
	rows, err := s.query(ctx, nextDue, nextDueSQL, now.UTC())
	if err != nil || len(rows) == 0 {
		return time.Time{}, false, err
	}
	return rows[0].NextAt, true, nil
}

// Renew implements outbound.QueueStore.
func (s *Store) Renew(ctx context.Context, claims map[string]string, until time.Time) ([]string, error) {
	pairs := make([][]any, 0, len(claims))
	for _, id := range slices.Sorted(maps.Keys(claims)) { // all workers lock rows in the same order
		pairs = append(pairs, []any{id, claims[id]})
	}
	var held []string
	err := s.db.Write(ctx, func(ctx context.Context) error {
		err := s.conn(ctx).Raw(`UPDATE deliveries SET next_at = ? WHERE (id, lease) IN ? RETURNING id`, until.UTC(), pairs).Scan(&held).Error
		return database.Fault(err, "Deliveries", "")
	})
	return held, err
}

// KeepBody implements outbound.QueueStore.
func (s *Store) KeepBody(ctx context.Context, d *outbound.Delivery, body []byte) error {
	return s.fenced(ctx, d, `UPDATE deliveries SET body = ? WHERE id = ? AND lease = ?`, body, d.ID, d.Lease)
}

// Record implements outbound.QueueStore.
func (s *Store) Record(ctx context.Context, d *outbound.Delivery, attempt *outbound.Attempt) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		err := s.fenced(ctx, d, `UPDATE deliveries SET lease = '', state = ?, reason = ?, attempts = ?, attempted_at = ?, next_at = ?,
			finished_at = ? WHERE id = ? AND lease = ?`, string(d.State), d.Reason, d.Attempts, utc(d.AttemptedAt), d.NextAt.UTC(),
			utc(d.FinishedAt), d.ID, d.Lease)
		if err != nil || attempt == nil {
			return err
		}
		return s.insertAttempt(ctx, attempt)
	})
}

// fenced runs a statement that changes d only while d.Lease holds. It returns ErrLeaseLost
// if another worker has claimed the delivery since.
func (s *Store) fenced(ctx context.Context, d *outbound.Delivery, sql string, args ...any) error {
	rows, err := s.db.Exec(ctx, "Delivery", d.ID, sql, args...)
	if err == nil && rows == 0 {
		return outbound.ErrLeaseLost
	}
	return err
}

func (s *Store) insertAttempt(ctx context.Context, a *outbound.Attempt) error {
	return s.db.Run(ctx, "Attempt", a.DeliveryID, attempts.Insert(*a))
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
