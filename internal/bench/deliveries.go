package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
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
	pg        *cluster
	broker    *brokerProcess
	receivers *peer
	queue     *queue
	urls      []string // the last one never responds
}

// deliveries measures outbound webhooks to receivers with a fixed response time.
func deliveries(r *run) []row {
	s := &dispatch{run: r, pg: r.cluster(), receivers: r.role("receivers")}
	s.broker = r.broker(s.pg, r.stub().url)
	s.urls = ask[[]string](s.receivers, "Open", ReceiversOrder{Count: r.scale.endpoints, Takes: receiving})
	s.urls[len(s.urls)-1] += hangPath
	s.broker.register(r.ctx, s.pg, s.urls)
	s.queue = &queue{ctx: r.ctx, conn: r.connect(s.pg, "bellhop")}
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
func (s *dispatch) rate(receivers int) float64 {
	s.expect(fill{count: int(1.3*limit(receivers)*s.scale.round.Seconds()) + inFlight, of: receivers, due: time.Now()})
	return ask[ReceiversResult](s.receivers, "Collect", ReceiversOrder{Count: 1, For: s.scale.round}).Rate
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
	n := s.healthy(64)
	var rates, yard []float64
	var used [2]time.Duration // CPU time of the broker and PostgreSQL per delivery
	for range s.scale.rounds {
		yard = append(yard, s.barePosts(n))
		round := cpuDuring(func() { rates = append(rates, s.rate(n)) }, s.broker.Pid(), s.pg.pid)
		for i := range used {
			sent := last(rates) * s.scale.round.Seconds()
			used[i] += time.Duration(float64(round[i])/max(sent, 1)) / time.Duration(s.scale.rounds)
		}
		s.log("  %.0f deliveries/s, bare %.0f/s", last(rates), last(yard))
		s.queue.clear()
	}
	return row{
		what:   fmt.Sprintf("deliveries to %d receivers that take %s, at most %d at a time and %d to each", n, receiving, inFlight, perReceiver),
		figure: fmt.Sprintf("%.0f deliveries/s", median(rates)),
		beside: fmt.Sprintf("bare requests, as many at a time: %.0f/s; the receivers could take %.0f/s", median(yard), limit(n)),
		ratio:  ratio(rates, yard),
		bound: fmt.Sprintf("CPU: per delivery broker %s, PostgreSQL %s; two commits (the claim of a batch, the outcome)",
			brief(used[0]), brief(used[1])),
	}
}

// barePosts sends requests like a delivery's to n receivers, without a queue, a
// signature or a log, and returns the number of responses per second.
func (s *dispatch) barePosts(n int) float64 {
	body := []byte(`{"type":"turn.finished","data":"` + strings.Repeat("x", 320) + `"}`)
	var answered atomic.Int64
	start, atATime := time.Now(), min(inFlight, perReceiver*n)
	s.parallel(atATime, atATime, func(ctx context.Context, c int) {
		for i := c; time.Since(start) < s.scale.round; i += atATime {
			must(readAll(must(request(ctx, http.MethodPost, s.urls[i%n], "", body))))
			answered.Add(1)
		}
	})
	return float64(answered.Load()) / time.Since(start).Seconds()
}

// backlog compares lags with and without queued deliveries that are due later.
func (s *dispatch) backlog() row {
	n := s.healthy(200)
	var with, without spreads
	for range s.scale.rounds {
		without = append(without, s.lag(n))
		s.queue.place(fill{count: s.scale.queued, of: n, due: time.Now().Add(time.Hour)})
		with = append(with, s.lag(n))
		s.log("  lag %s, with rows for later %s", last(without).P99, last(with).P99)
		s.queue.clear()
	}
	return row{
		what:   fmt.Sprintf("due → received, %d rows queued for later: one due every %s, %d receivers", s.scale.queued, dueEvery, n),
		figure: with.String(),
		beside: "without them, in turns: " + without.String(),
		ratio:  ratio(with.p99(), without.p99()) + " at p99",
		bound:  "waiting for the next claim, at most one in 5 ms; then a commit and an HTTP request",
	}
}

// oneHangs compares the rate of the other endpoints with and without an endpoint
// that never responds.
func (s *dispatch) oneHangs() []row {
	n := s.healthy(s.scale.endpoints)
	var rates [2][]float64 // without, with
	var lags [2]spreads
	for range s.scale.rounds {
		for i := range rates {
			s.beside(i == 1, func() { rates[i] = append(rates[i], s.rate(n)) })
			s.beside(i == 1, func() { lags[i] = append(lags[i], s.lag(n)) })
		}
		s.log("  %.0f/s beside one that hangs, %.0f/s without; lag %s and %s",
			last(rates[1]), last(rates[0]), last(lags[1]).P99, last(lags[0]).P99)
	}
	what := fmt.Sprintf("one of %d endpoints hangs with %d deliveries due: ", len(s.urls), s.scale.hanging)
	return []row{
		{
			what:   what + "the others' throughput",
			figure: fmt.Sprintf("%.0f deliveries/s", median(rates[1])),
			beside: fmt.Sprintf("without it, in turns: %.0f/s", median(rates[0])),
			ratio:  ratio(rates[1], rates[0]),
			bound:  fmt.Sprintf("it holds %d of %d requests, and claims have to look past its backlog", perReceiver, inFlight),
		},
		{
			what:   what + fmt.Sprintf("the others' due → received, one due every %s", dueEvery),
			figure: lags[1].String(),
			beside: "without it, in turns: " + lags[0].String(),
			ratio:  ratio(lags[1].p99(), lags[0].p99()) + " at p99",
			bound:  "as above: the query that looks past its backlog",
		},
	}
}

// beside measures with or without the hanging endpoint, and clears the queue.
func (s *dispatch) beside(hanging bool, measure func()) {
	if hanging {
		s.hang()
	}
	measure()
	s.queue.clear()
}
