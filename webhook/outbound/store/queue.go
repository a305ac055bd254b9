package store

import (
	"context"
	"slices"
	"sync"
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
var insertSQL = sync.OnceValue(func() string {
	return `INSERT INTO deliveries (position, ` + table.Names("", deliveries.Columns) + `)
	VALUES ((SELECT COALESCE(max(position), 0) + 1 FROM deliveries WHERE endpoint_id = ? AND order_key = ? AND finished_at IS NULL),
	` + deliveries.Placeholders() + `) ON CONFLICT (endpoint_id, message_id) DO NOTHING`
})

var (
	latestCandidatesSQL = sync.OnceValue(func() string {
		return candidates.Select(`WHERE d.state = 'queued' AND d.next_at <= ? ORDER BY d.next_at DESC LIMIT ?`)
	})

	candidatesSQL = sync.OnceValue(func() string {
		return candidates.Select(`WHERE d.state = 'queued' AND d.next_at <= ? ORDER BY d.next_at LIMIT ?`)
	})

	candidatesOfSQL = sync.OnceValue(func() string {
		return candidates.Select(`WHERE d.state = 'queued' AND d.host = ? AND d.next_at <= ? ORDER BY d.next_at LIMIT ?`)
	})

	// candidatesOfAllSQL is candidatesOfSQL for each host of an array.
	candidatesOfAllSQL = sync.OnceValue(func() string {
		return `SELECT one.* FROM unnest(?::text[]) AS h (host) CROSS JOIN LATERAL (
		` + candidates.Select(`WHERE d.state = 'queued' AND d.host = h.host AND d.next_at <= ? ORDER BY d.next_at LIMIT ?`) + `) AS one`
	})

	creationSQL = sync.OnceValue(func() string {
		return creation.Select(`WHERE state = 'queued' ORDER BY created_at LIMIT 1`)
	})

	nextDueSQL = sync.OnceValue(func() string {
		return nextDue.Select(`WHERE state = 'queued' AND next_at > ? ORDER BY next_at LIMIT 1`)
	})
)

// dueHostsSQL steps from host to host in the index. It reads only the first row of each host, the one
// that is due first. n numbers the hosts that it looked at. The last host that it may look at is
// always returned, so that the caller knows where to continue.
func (s *Store) dueHostsSQL() string {
	first := `SELECT host, next_at FROM deliveries WHERE state = 'queued' AND host > ? ORDER BY host, next_at LIMIT 1`
	step := `CROSS JOIN LATERAL (SELECT d.host, d.next_at FROM deliveries d
			WHERE d.state = 'queued' AND d.host > hosts.host ORDER BY d.host, d.next_at LIMIT 1) AS later`
	if !s.postgres() { // it has no LATERAL
		step = `JOIN deliveries later ON later.id = (SELECT d.id FROM deliveries d
			WHERE d.state = 'queued' AND d.host > hosts.host ORDER BY d.host, d.next_at LIMIT 1)`
	}
	return `WITH RECURSIVE hosts (host, next_at, n) AS (
			SELECT host, next_at, 1 FROM (` + first + `) AS first
			UNION ALL
			SELECT later.host, later.next_at, n + 1 FROM hosts ` + step + ` WHERE n < ?)
		SELECT host, n, due FROM (SELECT host, n, next_at <= ? AS due FROM hosts) AS seen
		WHERE n = ? OR due AND NOT ` + s.db.In("host") + ` LIMIT ?`
}

const advanceSQL = `UPDATE deliveries SET next_at = ?, reason = '' WHERE id = (SELECT id FROM deliveries
	WHERE endpoint_id = ? AND order_key = ? AND finished_at IS NULL ORDER BY position, id LIMIT 1)
	AND state = 'queued' AND reason = ?`

// claimableSQL, claimSQL and parkSQL have their ids in one parameter.
func (s *Store) claimableSQL() string {
	return aliased.Select(`WHERE ` + s.db.In("d.id") + ` AND d.state = 'queued' AND d.next_at <= ?
		AND (d.expires_at <= ? OR NOT ` + earlierOpen + `) ORDER BY d.next_at, d.id` + s.lock("FOR UPDATE OF d SKIP LOCKED"))
}

func (s *Store) claimSQL() string {
	return `UPDATE deliveries SET lease = ?, reason = '', next_at = ?, attempted_at = ? WHERE ` + s.db.In("id")
}

func (s *Store) parkSQL() string {
	return `UPDATE deliveries SET next_at = ?, reason = ? WHERE id IN (SELECT d.id FROM deliveries d
		WHERE ` + s.db.In("d.id") + ` AND d.state = 'queued' AND d.lease = '' AND d.next_at <= ? AND ` + earlierOpen +
		s.lock("FOR UPDATE OF d SKIP LOCKED") + `)`
}

func (s *Store) Insert(ctx context.Context, d *outbound.Delivery) (bool, error) {
	row := *d
	row.Attempts, row.Lease, row.AttemptedAt, row.FinishedAt = 0, "", nil, nil
	rows, err := s.db.Exec(ctx, "Delivery", d.ID, insertSQL(),
		deliveries.AppendValues([]any{d.EndpointID, d.OrderKey}, &row)...)
	return rows > 0, err
}

func (s *Store) Candidates(ctx context.Context, now time.Time, limit int) ([]outbound.Delivery, error) {
	return s.query(ctx, candidates, candidatesSQL(), now.UTC(), limit)
}

func (s *Store) LatestCandidates(ctx context.Context, now time.Time, limit int) ([]outbound.Delivery, error) {
	list, err := s.query(ctx, candidates, latestCandidatesSQL(), now.UTC(), limit)
	slices.Reverse(list)
	return list, err
}

func (s *Store) DueHosts(
	ctx context.Context, now time.Time, walk outbound.HostWalk,
) (hosts []string, next string, err error) {
	var seen []struct {
		Host string
		N    int // how many were looked at, with this one
		Due  bool
	}
	args := []any{walk.After, walk.Visited, now.UTC(), walk.Visited, s.db.Texts(walk.Skip), walk.Limit}
	err = s.conn(ctx).Raw(s.dueHostsSQL(), args...).Scan(&seen).Error
	if err != nil {
		return nil, "", database.Fault(err, "Due hosts", "")
	}
	for _, one := range seen {
		if one.Due && !slices.Contains(walk.Skip, one.Host) {
			hosts = append(hosts, one.Host)
		}
		if one.N == walk.Visited || len(hosts) == walk.Limit {
			next = one.Host
		}
	}
	return hosts, next, nil
}

func (s *Store) CandidatesOf(
	ctx context.Context, now time.Time, hosts []string, perHost int,
) ([]outbound.Delivery, error) {
	if s.postgres() {
		return s.query(ctx, candidates, candidatesOfAllSQL(), s.db.Texts(hosts), now.UTC(), perHost)
	}
	var all []outbound.Delivery
	for _, host := range hosts {
		list, err := s.query(ctx, candidates, candidatesOfSQL(), host, now.UTC(), perHost)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

func (s *Store) query(
	ctx context.Context, t *table.Table[outbound.Delivery], sql string, args ...any,
) ([]outbound.Delivery, error) {
	return database.Query(ctx, s.db, t, "Deliveries", "", sql, args...)
}

func (s *Store) Claim(ctx context.Context, ids []string, c outbound.Claim) ([]outbound.Delivery, error) {
	var taken []outbound.Delivery
	err := s.db.Write(ctx, func(ctx context.Context) (err error) {
		taken, err = s.query(ctx, aliased, s.claimableSQL(), s.db.Texts(ids), c.Now.UTC(), c.Held.UTC())
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
		_, err = s.db.Exec(ctx, "Deliveries", "", s.claimSQL(), c.Lease, c.Until.UTC(), c.Now.UTC(), s.db.Texts(mine))
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

func (s *Store) Park(ctx context.Context, ids []string, now, until time.Time) error {
	_, err := s.db.Exec(ctx, "Deliveries", "", s.parkSQL(), until.UTC(), outbound.ReasonWaiting,
		s.db.Texts(ids), now.UTC())
	return err
}

func (s *Store) Advance(ctx context.Context, orders []outbound.Order, now time.Time) error {
	if s.postgres() {
		args := append([]any{now.UTC(), outbound.ReasonWaiting},
			database.AppendArrays(nil, orderColumns, pointers(orders))...)
		_, err := s.ids(ctx, advanceAllSQL(), args)
		return err
	}
	return s.db.Write(ctx, func(ctx context.Context) error {
		for _, o := range orders {
			_, err := s.db.Exec(ctx, "Deliveries of webhook", o.EndpointID, advanceSQL, now.UTC(), o.EndpointID, o.Key,
				outbound.ReasonWaiting)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) NextDue(ctx context.Context, now time.Time) (time.Time, bool, error) {
	rows, err := s.query(ctx, nextDue, nextDueSQL(), now.UTC())
	if err != nil || len(rows) == 0 {
		return time.Time{}, false, err
	}
	return rows[0].NextAt, true, nil
}

func (s *Store) Backlog(ctx context.Context) (outbound.Backlog, error) {
	var b outbound.Backlog
	var states []struct {
		State outbound.State
		N     int64
	}
	if err := s.conn(ctx).Raw(`SELECT state, count(*) AS n FROM deliveries WHERE finished_at IS NULL GROUP BY state`).Scan(&states).Error; err != nil {
		return b, database.Fault(err, "Deliveries", "")
	}
	for _, one := range states {
		switch one.State {
		case outbound.Queued:
			b.Queued = one.N
		case outbound.Held:
			b.Held = one.N
		}
	}
	oldest, err := s.query(ctx, creation, creationSQL())
	if err == nil && len(oldest) > 0 {
		b.Oldest = oldest[0].CreatedAt
	}
	return b, err
}

func (s *Store) SaveBody(ctx context.Context, d *outbound.Delivery, body []byte) error {
	return s.execLeased(ctx, d, `UPDATE deliveries SET body = ? WHERE id = ? AND lease = ?`, body, d.ID, d.Lease)
}

// execLeased runs a statement that changes d only while d.Lease holds. It returns ErrLeaseLost
// if another worker has claimed the delivery since.
func (s *Store) execLeased(ctx context.Context, d *outbound.Delivery, sql string, args ...any) error {
	rows, err := s.db.Exec(ctx, "Delivery", d.ID, sql, args...)
	if err == nil && rows == 0 {
		return outbound.ErrLeaseLost
	}
	return err
}

func (s *Store) insertAttempt(ctx context.Context, a *outbound.Attempt) error {
	return s.db.Run(ctx, "Attempt", a.DeliveryID, attempts.Insert(*a))
}
