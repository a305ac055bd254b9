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

// queue writes deliveries into the broker's database, like the broker.
type queue struct {
	ctx  context.Context
	conn *pgx.Conn
	runs int
}

// register saves endpoints of one user, more than the broker's API would allow.
func (p *brokerProcess) register(ctx context.Context, pg *cluster, urls []string) {
	db := must(database.Open(ctx, pg.SocketURL("bellhop"), database.Options{}))
	store := outboundstore.New(db, p.sealer)
	check(errors.Join(store.Write(ctx, func(ctx context.Context) error {
		var errs []error
		for _, u := range urls {
			errs = append(errs, store.CreateEndpoint(ctx, &outbound.Endpoint{
				ID: protocol.NewID(), OwnerID: p.userID, Kind: outbound.KindTask, URL: u, Secret: signature.Generate(),
				Events: []protocol.WebhookEvent{protocol.WebhookTurnFinished}, CreatedAt: time.Now().UTC().Truncate(time.Microsecond),
			}))
		}
		return errors.Join(errs...)
	}), db.Close()))
}

// fill describes deliveries to endpoints in turns. The hanging endpoint is the last
// one.
type fill struct {
	count    int
	from, of int // the range of endpoints; of is excluded
	due      time.Time
	apart    time.Duration
}

func (q *queue) place(f fill) {
	q.runs++
	must(q.conn.Exec(q.ctx, `INSERT INTO deliveries (id, endpoint_id, user_id, kind, host, message_id, event, order_key, position, body,
			state, reason, attempts, lease, next_at, expires_at, created_at)
		SELECT $1::text || n.i, e.id, e.user_id, e.kind, e.host, 'msg_' || $1::text || n.i, 'turn.finished', '', 1,
			convert_to('{"type":"turn.finished","data":"`+dueMark+`' || (extract(epoch FROM n.due) * 1000000)::bigint || '000 '
				|| repeat('x', 300) || '"}', 'UTF8'),
			'queued', '', 0, '', n.due, n.due + interval '1 hour', n.due
		FROM (SELECT i, $2::timestamptz + i * $3::interval AS due FROM generate_series(0, $4::int - 1) i) n
		JOIN (SELECT w.*, row_number() OVER (ORDER BY url LIKE '%`+hangPath+`', id) - 1 AS r FROM webhook_endpoints w) e
			ON e.r = $5::int + n.i % ($6::int - $5::int)`,
		fmt.Sprintf("%d_", q.runs), f.due.UTC(), f.apart, f.count, f.from, f.of))
	must(q.conn.Exec(q.ctx, `ANALYZE deliveries`)) // PostgreSQL would do so by itself in a minute or two
}

// clear removes all deliveries; the broker drops those in its memory.
func (q *queue) clear() { must(q.conn.Exec(q.ctx, `TRUNCATE deliveries, delivery_attempts`)) }
