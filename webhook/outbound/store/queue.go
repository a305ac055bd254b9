package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"bellhop/internal/database"
	"bellhop/webhook/outbound"
)

// earlierOpen is true for a row d that has to wait for another of its order.
const earlierOpen = `(d.order_key <> '' AND EXISTS (SELECT 1 FROM deliveries p WHERE p.endpoint_id = d.endpoint_id
	AND p.order_key = d.order_key AND p.finished_at IS NULL AND p.position <= d.position
	AND (p.position < d.position OR p.id < d.id)))`

const (
	candidateColumns = `d.id, d.host, d.expires_at, ` + earlierOpen + ` AS blocked`

	candidatesSQL = `SELECT ` + candidateColumns + ` FROM deliveries d
		WHERE d.state = 'queued' AND d.next_at <= ? ORDER BY d.next_at LIMIT ?`

	// What is passed over costs a look at the index's row and nothing else.
	otherCandidatesSQL = `WITH due AS MATERIALIZED (SELECT * FROM (
			SELECT id, host, endpoint_id, order_key, position, next_at, expires_at FROM deliveries
			WHERE state = 'queued' AND next_at <= ? ORDER BY next_at LIMIT ?) AS first)
		SELECT ` + candidateColumns + `, (SELECT count(*) FROM due) AS attempts FROM due d WHERE d.host NOT IN ? ORDER BY d.next_at LIMIT ?`

	// From one host to the next by the index, never through a host's rows.
	dueHostsSQL = `WITH RECURSIVE hosts (host) AS (
			SELECT min(host) FROM deliveries WHERE state = 'queued' AND host > ?
			UNION ALL
			SELECT (SELECT min(d.host) FROM deliveries d WHERE d.state = 'queued' AND d.host > hosts.host)
			FROM hosts WHERE hosts.host IS NOT NULL)
		SELECT host FROM hosts WHERE host IS NOT NULL AND EXISTS (
			SELECT 1 FROM deliveries d WHERE d.state = 'queued' AND d.host = hosts.host AND d.next_at <= ?)
		LIMIT ?`

	candidatesOfSQL = `SELECT * FROM (SELECT ` + candidateColumns + ` FROM deliveries d
		WHERE d.state = 'queued' AND d.host = ? AND d.next_at <= ? ORDER BY d.next_at LIMIT ?) AS one`

	claimableSQL = `SELECT d.* FROM deliveries d WHERE d.id IN ? AND d.state = 'queued' AND d.next_at <= ?
		AND (d.expires_at <= ? OR NOT ` + earlierOpen + `) ORDER BY d.next_at, d.id`

	claimSQL = `UPDATE deliveries SET lease = ?, reason = '', next_at = ?, attempted_at = ? WHERE id IN ?`

	parkSQL = `UPDATE deliveries SET next_at = ?, reason = ? WHERE id IN (SELECT d.id FROM deliveries d
		WHERE d.id IN ? AND d.state = 'queued' AND d.lease = '' AND d.next_at <= ? AND ` + earlierOpen

	advanceSQL = `UPDATE deliveries SET next_at = ?, reason = '' WHERE id = (SELECT id FROM deliveries
		WHERE endpoint_id = ? AND order_key = ? AND finished_at IS NULL ORDER BY position, id LIMIT 1)
		AND state = 'queued' AND reason = ?`

	nextDueSQL = `SELECT next_at FROM deliveries WHERE state = 'queued' AND next_at > ? ORDER BY next_at LIMIT 1`
)

// Insert implements outbound.QueueStore.
func (s *Store) Insert(ctx context.Context, d *outbound.Delivery) (bool, error) {
	rows, err := s.exec(ctx, "Delivery", d.ID, `INSERT INTO deliveries (id, endpoint_id, user_id, kind, host, message_id, event,
			order_key, position, body, state, reason, attempts, lease, next_at, expires_at, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT COALESCE(max(position), 0) + 1 FROM deliveries
			WHERE endpoint_id = ? AND order_key = ? AND finished_at IS NULL), ?, ?, ?, 0, '', ?, ?, ?)
		ON CONFLICT (endpoint_id, message_id) DO NOTHING`,
		d.ID, d.EndpointID, d.UserID, d.Kind, d.Host, d.MessageID, d.Event, d.OrderKey, d.EndpointID, d.OrderKey,
		d.Body, string(d.State), d.Reason, d.NextAt.UTC(), d.ExpiresAt.UTC(), d.CreatedAt.UTC())
	return rows > 0, err
}

// Candidates implements outbound.QueueStore.
func (s *Store) Candidates(ctx context.Context, now time.Time, limit int) ([]outbound.Delivery, error) {
	return s.query(ctx, candidatesSQL, now.UTC(), limit)
}

// OtherCandidates implements outbound.QueueStore.
func (s *Store) OtherCandidates(
	ctx context.Context, now time.Time, hosts []string, depth, limit int,
) ([]outbound.Delivery, bool, error) {
	list, err := s.query(ctx, otherCandidatesSQL, now.UTC(), depth, hosts, limit)
	return list, len(list) == 0 || list[0].Attempts == depth, err
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
	return s.query(ctx, strings.Join(parts, " UNION ALL "), args...)
}

func (s *Store) query(ctx context.Context, sql string, args ...any) ([]outbound.Delivery, error) {
	var rows []deliveryRow
	if err := s.conn(ctx).Raw(sql, args...).Scan(&rows).Error; err != nil {
		return nil, database.Fault(err, "Deliveries", "")
	}
	return deliveries(rows), nil
}

// Claim implements outbound.QueueStore.
func (s *Store) Claim(ctx context.Context, ids []string, c outbound.Claim) ([]outbound.Delivery, error) {
	var taken []outbound.Delivery
	err := s.db.Write(ctx, func(ctx context.Context) (err error) {
		taken, err = s.query(ctx, claimableSQL+s.lock("FOR UPDATE OF d SKIP LOCKED"), ids, c.Now.UTC(), c.Now.UTC())
		if err != nil || len(taken) == 0 {
			return err
		}
		mine := make([]string, len(taken))
		for i := range taken {
			d := &taken[i]
			mine[i] = d.ID
			if err := s.abandoned(ctx, d); err != nil {
				return err
			}
			d.Lease, d.NextAt = c.Lease, c.Until
		}
		_, err = s.exec(ctx, "Deliveries", "", claimSQL, c.Lease, c.Until.UTC(), c.Now.UTC(), mine)
		return err
	})
	return taken, err
}

// abandoned logs the attempt of a claim that lapsed.
func (s *Store) abandoned(ctx context.Context, d *outbound.Delivery) error {
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
	_, err := s.exec(ctx, "Delivery", d.ID, `UPDATE deliveries SET attempts = ? WHERE id = ?`, d.Attempts, d.ID)
	return err
}

// Park implements outbound.QueueStore.
func (s *Store) Park(ctx context.Context, ids []string, now, until time.Time) error {
	_, err := s.exec(ctx, "Deliveries", "", parkSQL+s.lock("FOR UPDATE OF d SKIP LOCKED")+`)`, until.UTC(), outbound.ReasonWaiting, ids, now.UTC())
	return err
}

// Advance implements outbound.QueueStore.
func (s *Store) Advance(ctx context.Context, endpointID, orderKey string, now time.Time) error {
	_, err := s.exec(ctx, "Deliveries of webhook", endpointID, advanceSQL, now.UTC(), endpointID, orderKey, outbound.ReasonWaiting)
	return err
}

// NextDue implements outbound.QueueStore.
func (s *Store) NextDue(ctx context.Context, now time.Time) (time.Time, bool, error) {
	rows, err := s.query(ctx, nextDueSQL, now.UTC())
	if err != nil || len(rows) == 0 {
		return time.Time{}, false, err
	}
	return rows[0].NextAt, true, nil
}

// Renew implements outbound.QueueStore.
func (s *Store) Renew(ctx context.Context, claims map[string]string, until time.Time) ([]string, error) {
	pairs := make([][]any, 0, len(claims))
	for _, id := range slices.Sorted(maps.Keys(claims)) { // all workers lock in one order
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

func (s *Store) fenced(ctx context.Context, d *outbound.Delivery, sql string, args ...any) error {
	rows, err := s.exec(ctx, "Delivery", d.ID, sql, args...)
	if err == nil && rows == 0 {
		return outbound.ErrLeaseLost
	}
	return err
}

func (s *Store) insertAttempt(ctx context.Context, a *outbound.Attempt) error {
	_, err := s.exec(ctx, "Attempt", a.DeliveryID, `INSERT INTO delivery_attempts
		(delivery_id, number, at, duration_ms, status, error, answer) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		a.DeliveryID, a.Number, a.At.UTC(), a.Duration.Milliseconds(), a.Status, a.Error, a.Answer)
	return err
}
