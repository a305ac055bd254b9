package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/crypto/signature"
	"bellhop/internal/database"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	outboundstore "bellhop/webhook/outbound/store"
)

// queue places deliveries where the broker finds them: rows, as its use cases
// write them.
type queue struct {
	conn *pgx.Conn
	runs int
}

// register saves endpoints of one user, more than the broker lets a user have.
func register(ctx context.Context, databaseURL string, p *brokerProcess, urls []string) (err error) {
	db, err := database.Open(ctx, databaseURL, database.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store := outboundstore.New(db, p.sealer)
	return store.Write(ctx, func(ctx context.Context) error {
		for _, u := range urls {
			e := &outbound.Endpoint{
				ID: protocol.NewID(), OwnerID: p.userID, Kind: outbound.KindTask, URL: u, Secret: signature.Generate(),
				Events: []string{"turn.finished"}, CreatedAt: time.Now().UTC().Truncate(time.Microsecond),
			}
			if err := store.CreateEndpoint(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// fill is deliveries to endpoints in turns. The one that hangs is the last of
// all endpoints.
type fill struct {
	count    int
	from, of int // endpoints from the one to before the other
	due      time.Time
	apart    time.Duration
}

func (q *queue) place(ctx context.Context, f fill) error {
	q.runs++
	_, err := q.conn.Exec(ctx, `INSERT INTO deliveries (id, endpoint_id, user_id, kind, host, message_id, event, order_key, position, body,
			state, reason, attempts, lease, next_at, expires_at, created_at)
		SELECT $1::text || n.i, e.id, e.user_id, e.kind, e.host, 'msg_' || $1::text || n.i, 'turn.finished', '', 1,
			convert_to('{"type":"turn.finished","data":"`+dueMark+`' || (extract(epoch FROM n.due) * 1000000)::bigint || '000 '
				|| repeat('x', 300) || '"}', 'UTF8'),
			'queued', '', 0, '', n.due, n.due + interval '1 hour', n.due
		FROM (SELECT i, $2::timestamptz + i * $3::interval AS due FROM generate_series(0, $4::int - 1) i) n
		JOIN (SELECT w.*, row_number() OVER (ORDER BY url LIKE '%`+hangPath+`', id) - 1 AS r FROM webhook_endpoints w) e
			ON e.r = $5::int + n.i % ($6::int - $5::int)`,
		fmt.Sprintf("%d_", q.runs), f.due.UTC(), f.apart, f.count, f.from, f.of)
	if err == nil { // what PostgreSQL would do by itself in a minute or two
		_, err = q.conn.Exec(ctx, `ANALYZE deliveries`)
	}
	return err
}

// clear takes out what is there; what the broker holds of it ends without a
// trace.
func (q *queue) clear(ctx context.Context) error {
	_, err := q.conn.Exec(ctx, `TRUNCATE deliveries, delivery_attempts`)
	return err
}
