package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/crypto/signature"
	"bellhop/internal/database"
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

// dispatch is a broker that sends webhooks to receivers.
type dispatch struct {
	*run
	used      *meter // broker and PostgreSQL
	receivers *peer
	queue     *queue
	urls      []string // the last one never responds
}

// deliveries measures outbound webhooks to receivers with a fixed response time.
func deliveries(r *run) []row {
	pg := r.cluster()
	broker := r.broker(pg, r.stub().url)
	s := &dispatch{run: r, used: newMeter(broker.Pid(), pg.pid), receivers: r.role("receivers")}
	s.urls = ask[[]string](s.receivers, "Open", ReceiversOrder{Count: r.scale.endpoints, Takes: receiving})
	s.urls[len(s.urls)-1] += hangPath
	broker.register(r.ctx, pg, s.urls)
	s.queue = &queue{ctx: r.ctx, conn: r.connect(pg, "bellhop")}
	return append([]row{s.speed(), s.backlog()}, s.oneHangs()...)
}

// healthy returns the number of responding endpoints to use, at most n.
func (s *dispatch) healthy(n int) int { return min(n, len(s.urls)-1) }

// limit returns how many deliveries per second the receivers could accept.
func limit(receivers int) float64 {
	return float64(min(inFlight, perReceiver*receivers)) / receiving.Seconds()
}

// expect prepares the receivers for deliveries that become due from now on.
func (s *dispatch) expect(f fill) {
	s.receivers.do("Expect", f.due.Truncate(time.Microsecond).UnixNano())
	s.queue.place(f)
}

// rate measures one round of deliveries that are all due.
func (s *dispatch) rate(receivers int) rate {
	s.expect(fill{count: int(1.3*limit(receivers)*s.scale.round.Seconds()) + inFlight, of: receivers, due: time.Now()})
	return rate(ask[ReceiversResult](s.receivers, "Collect", ReceiversOrder{Count: 1, For: s.scale.round}).Rate)
}

// lag measures deliveries that become due one after the other.
func (s *dispatch) lag(receivers int) spread {
	count := max(1, int(s.scale.round/dueEvery))
	s.expect(fill{count: count, of: receivers, due: time.Now().Add(s.scale.ahead), apart: dueEvery})
	return ask[ReceiversResult](s.receivers, "Collect", ReceiversOrder{Count: count}).Lag
}

// hang queues deliveries to the endpoint that never responds, and waits until the
// broker has as many of them in flight as it allows.
func (s *dispatch) hang() {
	last := len(s.urls) - 1
	s.queue.place(fill{count: s.scale.hanging, from: last, of: last + 1, due: time.Now()})
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	for taken := 0; taken < min(perReceiver, s.scale.hanging); {
		check(s.queue.conn.QueryRow(ctx, `SELECT count(*) FROM deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
			WHERE e.url LIKE '%`+hangPath+`' AND d.lease <> ''`).Scan(&taken))
	}
}

// speed compares the queue with bare requests.
func (s *dispatch) speed() row {
	n, sent := s.healthy(64), 0.0
	t := inTurns(s.run, func() (own rate) {
		defer s.queue.clear()
		s.used.during(func() { own = s.rate(n) })
		sent += float64(own) * s.scale.round.Seconds()
		return own
	}, func() rate { return s.barePosts(n) })
	cpu := each(s.used.sums, func(d time.Duration) string { return brief(time.Duration(float64(d) / max(sent, 1))) })
	return row{
		what: fmt.Sprintf("deliveries to %d receivers that take %s, at most %d at a time and %d to each", n, receiving,
			inFlight, perReceiver),
		figure: fmt.Sprintf("%.0f deliveries/s", median(t.own)),
		beside: fmt.Sprintf("bare requests, as many at a time: %s; the receivers could take %.0f/s", median(t.yard),
			limit(n)),
		ratio: ratio(t.own, t.yard),
		bound: fmt.Sprintf("CPU: per delivery broker %s, PostgreSQL %s; two commits (the claim of a batch, the outcome)",
			cpu[0], cpu[1]),
	}
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

// backlog compares lags with and without queued deliveries that are due later.
func (s *dispatch) backlog() row {
	n := s.healthy(200)
	later := func() { s.queue.place(fill{count: s.scale.queued, of: n, due: time.Now().Add(time.Hour)}) }
	t := compare(s, n, later, s.lag)
	return row{
		what: fmt.Sprintf("due → received, %d rows queued for later: one due every %s, %d receivers", s.scale.queued,
			dueEvery, n),
		figure: spreads(t.own).String(),
		beside: "without them, in turns: " + spreads(t.yard).String(),
		ratio:  ratio(spreads(t.own).p99(), spreads(t.yard).p99()) + " at p99",
		bound:  "waiting for the next claim, at most one in 5 ms; then a commit and an HTTP request",
	}
}

// oneHangs compares the other endpoints with and without an endpoint that never
// responds.
func (s *dispatch) oneHangs() []row {
	n := s.healthy(s.scale.endpoints)
	what := fmt.Sprintf("one of %d endpoints hangs with %d deliveries due: ", len(s.urls), s.scale.hanging)
	rates := compare(s, n, s.hang, s.rate)
	lags := compare(s, n, s.hang, s.lag)
	return []row{{
		what:   what + "the others' throughput",
		figure: fmt.Sprintf("%.0f deliveries/s", median(rates.own)),
		beside: fmt.Sprintf("without it, in turns: %s", median(rates.yard)),
		ratio:  ratio(rates.own, rates.yard),
		bound:  fmt.Sprintf("it holds %d of %d requests, and claims have to look past its backlog", perReceiver, inFlight),
	}, {
		what:   what + fmt.Sprintf("the others' due → received, one due every %s", dueEvery),
		figure: spreads(lags.own).String(),
		beside: "without it, in turns: " + spreads(lags.yard).String(),
		ratio:  ratio(spreads(lags.own).p99(), spreads(lags.yard).p99()) + " at p99",
		bound:  "as above: the query that looks past its backlog",
	}}
}

// compare measures n receivers with and without what disturbs them, and clears the
// queue each time.
func compare[T fmt.Stringer](s *dispatch, n int, disturb func(), measure func(receivers int) T) turns[T] {
	cleared := func() T {
		defer s.queue.clear()
		return measure(n)
	}
	return inTurns(s.run, func() T {
		disturb()
		return cleared()
	}, cleared)
}

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

func (q *queue) place(f fill) {
	q.runs++
	must(q.conn.Exec(q.ctx, `INSERT INTO deliveries (id, endpoint_id, user_id, kind, host, message_id,
			event, order_key, position, body, state, reason, attempts, lease, next_at, expires_at, created_at)
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

// receiversRole receives outbound webhooks. Each receiver has its own port, so the
// broker treats it as a separate host.
type receiversRole struct {
	*life
	takes time.Duration

	mu      sync.Mutex
	from    int64 // deliveries due before it are not counted
	lags    samples
	release chan struct{} // closed to release the hanging requests
}

const (
	dueMark  = "due@"
	hangPath = "/hang"
)

// ReceiversOrder is the configuration of receivers.
type ReceiversOrder struct {
	Count int           // number of receivers, or of deliveries to wait for
	Takes time.Duration // response time of a receiver
	For   time.Duration // how long deliveries are counted after these
}

// ReceiversResult describes the deliveries that arrived.
type ReceiversResult struct {
	Rate float64 // per second
	Lag  spread  // from due to arrived
}

// Open starts receivers and returns their URLs.
func (r *receiversRole) Open(o ReceiversOrder, urls *[]string) error { //nolint:unparam // net/rpc wants it
	r.takes = o.Takes
	for range o.Count {
		server := httptest.NewServer(http.HandlerFunc(r.take))
		context.AfterFunc(r.ctx, server.CloseClientConnections)
		*urls = append(*urls, server.URL)
	}
	return nil
}

// Expect resets the counts and releases the hanging requests.
func (r *receiversRole) Expect(from int64, _ *bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.from = from
	r.lags.reset()
	close(r.release)
	r.release = make(chan struct{})
	return nil
}

// Collect waits for deliveries, counts further ones for a while, and returns the lag
// of all.
func (r *receiversRole) Collect(o ReceiversOrder, out *ReceiversResult) error {
	err := r.await("deliveries", func() (have, want int64) { return int64(r.lags.count()), int64(o.Count) })
	if err != nil {
		return err
	}
	before, start := r.lags.count(), time.Now()
	span(r.ctx, o.For)
	out.Rate = float64(r.lags.count()-before) / time.Since(start).Seconds()
	out.Lag = r.lags.spread()
	return nil
}

func (r *receiversRole) take(w http.ResponseWriter, req *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(req.Body) // otherwise the server does not notice that the client disconnects
	if err != nil && !errors.Is(err, io.EOF) {
		return
	}
	due, takes, hangs := markIn(body, dueMark), time.After(r.takes), req.URL.Path == hangPath
	r.mu.Lock()
	release, counted := r.release, !hangs && due >= r.from
	r.mu.Unlock()
	if hangs {
		takes = nil
	}
	if counted {
		r.lags.add(time.Duration(now.UnixNano() - due))
		release = nil
	}
	select {
	case <-takes:
	case <-release:
	case <-req.Context().Done():
	}
	w.WriteHeader(http.StatusNoContent)
}
