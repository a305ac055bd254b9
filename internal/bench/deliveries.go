package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/crypto/signature"
	"bellhop/internal/database"
	"bellhop/internal/wait"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	outboundstore "bellhop/webhook/outbound/store"
)

// The broker's own limits, and the response time of the receivers.
const (
	inFlight    = 128
	perReceiver = 4
	receiving   = 50 * time.Millisecond
	dueEvery    = 5 * time.Millisecond // interval between deliveries that measure lag
)

// dispatch is a broker that sends webhooks to receivers in this process.
type dispatch struct {
	*run
	used      *meter // broker and PostgreSQL
	receivers *receivers
	conn      *pgx.Conn // to the broker's database
	fills     int       // that were placed
	urls      []string  // the last one never responds
}

// deliveries measures outbound webhooks to receivers with a fixed response time.
func deliveries(r *run) []row {
	pg := r.cluster()
	broker := r.broker(pg, r.stub().url)
	s := &dispatch{run: r, used: newMeter(broker.Pid(), pg.pid), receivers: &receivers{}}
	s.receivers.expect(time.Now())
	for range r.scale.endpoints { // each on a port of its own, so the broker treats it as a separate host
		s.urls = append(s.urls, r.serve(s.receivers))
	}
	s.urls[len(s.urls)-1] += hangPath
	broker.register(r.ctx, pg, s.urls)
	s.conn = r.connect(pg, "bellhop")
	some, all := s.healthy(200), s.healthy(r.scale.endpoints)
	hanging := fmt.Sprintf("one of %d endpoints hangs with %d deliveries due: ", len(s.urls), s.scale.hanging)
	return []row{
		s.speed(),
		spreadRow(fmt.Sprintf("due → received, %d rows queued for later: one due every %s, %d receivers", s.scale.queued,
			dueEvery, some), compare(s, some, s.queueLater, s.lag), "without them, in turns",
			"waiting for the next claim, at most one in 5 ms; then a commit and an HTTP request"),
		rateRow(hanging+"the others' throughput", "deliveries", compare(s, all, s.hang, s.rate), "without it, in turns",
			fmt.Sprintf("it holds %d of %d requests, and claims have to look past its backlog", perReceiver, inFlight)),
		spreadRow(fmt.Sprintf("%sthe others' due → received, one due every %s", hanging, dueEvery),
			compare(s, all, s.hang, s.lag), "without it, in turns", "as above: the query that looks past its backlog"),
	}
}

// healthy returns the number of responding endpoints to use, at most n.
func (s *dispatch) healthy(n int) int { return min(n, len(s.urls)-1) }

// limit returns how many deliveries per second the receivers could accept.
func limit(receivers int) float64 {
	return float64(min(inFlight, perReceiver*receivers)) / receiving.Seconds()
}

// expect prepares the receivers for deliveries that become due from now on.
func (s *dispatch) expect(f fill) {
	s.receivers.expect(f.due.Truncate(time.Microsecond))
	s.place(f)
}

// rate measures one round of deliveries that are all due, from the first that arrives.
func (s *dispatch) rate(receivers int) rate {
	s.expect(fill{count: int(1.3*limit(receivers)*s.scale.round.Seconds()) + inFlight, of: receivers, due: time.Now()})
	lags := &s.receivers.now.Load().lags
	s.await("deliveries", 1, lags.count)
	before, start := lags.count(), time.Now()
	wait.For(s.ctx, s.scale.round)
	return rate(float64(lags.count()-before) / time.Since(start).Seconds())
}

// lag measures deliveries that become due one after the other.
func (s *dispatch) lag(receivers int) spread {
	count := max(1, int(s.scale.round/dueEvery))
	s.expect(fill{count: count, of: receivers, due: time.Now().Add(s.scale.ahead), apart: dueEvery})
	lags := &s.receivers.now.Load().lags
	s.await("deliveries", count, lags.count)
	return lags.spread()
}

// queueLater queues deliveries that are due after the measurement.
func (s *dispatch) queueLater(receivers int) {
	s.place(fill{count: s.scale.queued, of: receivers, due: time.Now().Add(time.Hour)})
}

// hang queues deliveries to the endpoint that never responds, and waits until the
// broker has as many of them in flight as it allows.
func (s *dispatch) hang(int) {
	last := len(s.urls) - 1
	s.place(fill{count: s.scale.hanging, from: last, of: last + 1, due: time.Now()})
	s.await("hanging deliveries", min(perReceiver, s.scale.hanging), func() (taken int) {
		check(s.conn.QueryRow(s.ctx, `SELECT count(*) FROM deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
			WHERE e.url LIKE '%`+hangPath+`' AND d.lease <> ''`).Scan(&taken))
		return taken
	})
}

// speed compares the queue with bare requests.
func (s *dispatch) speed() row {
	n, sent := s.healthy(64), 0.0
	t := inTurns(s.run, func() (own rate) {
		defer s.clear()
		s.used.during(func() { own = s.rate(n) })
		sent += float64(own) * s.scale.round.Seconds()
		return own
	}, func() rate { return s.barePosts(n) })
	cpu := each(s.used.sums, func(d time.Duration) string { return brief(time.Duration(float64(d) / max(sent, 1))) })
	return rateRow(
		fmt.Sprintf("deliveries to %d receivers that take %s, at most %d at a time and %d to each", n, receiving, inFlight,
			perReceiver), "deliveries", t,
		fmt.Sprintf("the receivers could take %.0f/s; bare requests, as many at a time", limit(n)),
		fmt.Sprintf("CPU: per delivery broker %s, PostgreSQL %s; two commits (the claim of a batch, the outcome)",
			cpu[0], cpu[1]))
}

// barePosts sends requests like a delivery's to n receivers, without a queue, a
// signature or a log, and returns the number of responses per second.
func (s *dispatch) barePosts(n int) rate {
	body := []byte(`{"type":"turn.finished","data":"` + strings.Repeat("x", 320) + `"}`)
	var answered atomic.Int64
	start, atATime := time.Now(), min(inFlight, perReceiver*n)
	s.parallel(atATime, atATime, func(ctx context.Context, c int) {
		for i := c; time.Since(start) < s.scale.round; i += atATime {
			must(readAll(must(request(ctx, http.MethodPost, s.urls[i%n], "", body))))
			answered.Add(1)
		}
	})
	return rate(float64(answered.Load()) / time.Since(start).Seconds())
}

// compare measures n receivers with and without what disturbs them, and clears the
// queue each time.
func compare[T fmt.Stringer](s *dispatch, n int, disturb func(receivers int), measure func(receivers int) T) turns[T] {
	cleared := func() T {
		defer s.clear()
		return measure(n)
	}
	return inTurns(s.run, func() T {
		disturb(n)
		return cleared()
	}, cleared)
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
				Events:    []protocol.WebhookEvent{protocol.WebhookTurnFinished},
				CreatedAt: time.Now().UTC().Truncate(time.Microsecond),
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

// place writes deliveries into the broker's database, like the broker.
func (s *dispatch) place(f fill) {
	s.fills++
	must(s.conn.Exec(s.ctx, `INSERT INTO deliveries (id, endpoint_id, user_id, kind, host, message_id,
			event, order_key, position, body, state, reason, attempts, lease, next_at, expires_at, created_at)
		SELECT $1::text || n.i, e.id, e.user_id, e.kind, e.host, 'msg_' || $1::text || n.i, 'turn.finished', '', 1,
			convert_to('{"type":"turn.finished","data":"`+dueMark+`' || (extract(epoch FROM n.due) * 1000000)::bigint || '000 '
				|| repeat('x', 300) || '"}', 'UTF8'),
			'queued', '', 0, '', n.due, n.due + interval '1 hour', n.due
		FROM (SELECT i, $2::timestamptz + i * $3::interval AS due FROM generate_series(0, $4::int - 1) i) n
		JOIN (SELECT w.*, row_number() OVER (ORDER BY url LIKE '%`+hangPath+`', id) - 1 AS r FROM webhook_endpoints w) e
			ON e.r = $5::int + n.i % ($6::int - $5::int)`,
		fmt.Sprintf("%d_", s.fills), f.due.UTC(), f.apart, f.count, f.from, f.of))
	must(s.conn.Exec(s.ctx, `ANALYZE deliveries`)) // PostgreSQL would do so by itself in a minute or two
}

// clear removes all deliveries; the broker drops those in its memory.
func (s *dispatch) clear() { must(s.conn.Exec(s.ctx, `TRUNCATE deliveries, delivery_attempts`)) }

// receivers receive outbound webhooks.
type receivers struct{ now atomic.Pointer[reception] }

// reception is what the receivers do with the deliveries of one measurement.
type reception struct {
	from    int64 // deliveries due before it are not counted
	lags    samples
	release chan struct{} // closed to release the hanging requests
}

const (
	dueMark  = "due@"
	hangPath = "/hang"
)

// expect begins a reception and releases the hanging requests of the one before.
func (r *receivers) expect(from time.Time) {
	before := r.now.Swap(&reception{from: from.UnixNano(), release: make(chan struct{})})
	if before != nil {
		close(before.release)
	}
}

func (r *receivers) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(req.Body) // otherwise the server does not notice that the client disconnects
	if err != nil {
		return
	}
	now, due, takes := r.now.Load(), markIn(body, dueMark), time.After(receiving)
	release := now.release
	switch {
	case req.URL.Path == hangPath:
		takes = nil
	case due >= now.from:
		now.lags.add(time.Duration(at.UnixNano() - due))
		release = nil
	}
	select {
	case <-takes:
	case <-release:
	case <-req.Context().Done():
	}
	w.WriteHeader(http.StatusNoContent)
}
