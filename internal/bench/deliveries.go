package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The broker's own limits, and what the receivers take.
const (
	inFlight    = 128
	perReceiver = 4
	receiving   = 50 * time.Millisecond
	dueEvery    = 5 * time.Millisecond // where lag is measured
)

// dispatch is the processes of this figure.
type dispatch struct {
	b         *bench
	pg        *cluster
	host      *stub
	broker    *brokerProcess
	receivers *peer
	queue     *queue
	urls      []string // the last one hangs
}

// measureDeliveries has the broker send webhooks to receivers that take their time.
func measureDeliveries(ctx context.Context, b *bench) (rows []row, err error) {
	s := &dispatch{b: b}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	for _, measure := range []func(context.Context) ([]row, error){s.speed, s.backlog, s.oneHangs} {
		more, err := measure(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func (s *dispatch) open(ctx context.Context) (err error) {
	if s.pg, err = startCluster(ctx); err != nil {
		return err
	}
	if err := s.pg.exec(ctx, "CREATE DATABASE bellhop"); err != nil {
		return err
	}
	if s.host, err = startStub(ctx); err != nil {
		return err
	}
	if s.broker, err = s.b.startBroker(ctx, s.pg.url("bellhop"), s.host.url); err != nil {
		return err
	}
	if s.receivers, err = startRole("receivers"); err != nil {
		return err
	}
	if err := s.receivers.order("open", receiversOrder{Count: s.b.scale.endpoints, Takes: receiving}, &s.urls); err != nil {
		return err
	}
	s.urls[len(s.urls)-1] += hangPath
	if err := register(ctx, s.pg.url("bellhop"), s.broker, s.urls); err != nil {
		return err
	}
	conn, err := s.pg.connect(ctx, "bellhop")
	s.queue = &queue{conn: conn}
	return err
}

func (s *dispatch) close(ctx context.Context) error {
	var errs []error
	if s.queue != nil && s.queue.conn != nil {
		errs = append(errs, s.queue.conn.Close(context.WithoutCancel(ctx)))
	}
	if s.broker != nil {
		errs = append(errs, s.broker.stop())
	}
	transport.CloseIdleConnections()
	if s.receivers != nil {
		errs = append(errs, s.receivers.stop())
	}
	if s.host != nil {
		errs = append(errs, s.host.close())
	}
	if s.pg != nil {
		errs = append(errs, s.pg.stop(ctx))
	}
	return errors.Join(errs...)
}

// healthy is how many endpoints there are to use, at most n.
func (s *dispatch) healthy(n int) int { return min(n, len(s.urls)-1) }

// limit is the deliveries a second that receivers could take.
func limit(receivers int) float64 {
	return float64(min(inFlight, perReceiver*receivers)) / receiving.Seconds()
}

// rate is that of deliveries which are all due, for a round.
func (s *dispatch) rate(ctx context.Context, receivers int) (float64, error) {
	due := time.Now()
	if err := s.receivers.order("expect", receiversOrder{From: due.Truncate(time.Microsecond).UnixNano()}, nil); err != nil {
		return 0, err
	}
	count := int(1.3*limit(receivers)*s.b.scale.round.Seconds()) + inFlight
	if err := s.queue.place(ctx, fill{count: count, of: receivers, due: due}); err != nil {
		return 0, err
	}
	var result receiversResult
	err := s.receivers.order("rate", receiversOrder{For: s.b.scale.round}, &result)
	return result.Rate, err
}

// lag is that of deliveries which become due one after the other.
func (s *dispatch) lag(ctx context.Context, receivers int) (spread, error) {
	due := time.Now().Add(s.b.scale.ahead)
	if err := s.receivers.order("expect", receiversOrder{From: due.Truncate(time.Microsecond).UnixNano()}, nil); err != nil {
		return spread{}, err
	}
	count := max(1, int(s.b.scale.round/dueEvery))
	if err := s.queue.place(ctx, fill{count: count, of: receivers, due: due, apart: dueEvery}); err != nil {
		return spread{}, err
	}
	var result receiversResult
	err := s.receivers.order("collect", receiversOrder{Count: count}, &result)
	return result.Lag, err
}

// hang queues deliveries to the endpoint that hangs and waits until as many of
// them are on their way as may be.
func (s *dispatch) hang(ctx context.Context) error {
	last := len(s.urls) - 1
	if err := s.queue.place(ctx, fill{count: s.b.scale.hanging, from: last, of: last + 1, due: time.Now()}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for taken := 0; taken < min(perReceiver, s.b.scale.hanging); {
		err := s.queue.conn.QueryRow(ctx, `SELECT count(*) FROM deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
			WHERE e.url LIKE '%`+hangPath+`' AND d.lease <> ''`).Scan(&taken)
		if err != nil {
			return fmt.Errorf("%d requests hang: %w", taken, err)
		}
	}
	return nil
}

// speed compares the queue with bare requests.
func (s *dispatch) speed(ctx context.Context) ([]row, error) {
	n := s.healthy(64)
	r := &rounds{}
	var used, database time.Duration
	for range s.b.scale.rounds {
		yard, err := barePosts(ctx, s.urls[:n], min(inFlight, perReceiver*n), s.b.scale.round)
		if err != nil {
			return nil, err
		}
		before, err := s.cpu()
		if err != nil {
			return nil, err
		}
		rate, err := s.rate(ctx, n)
		if err != nil {
			return nil, err
		}
		after, err := s.cpu()
		if err != nil {
			return nil, err
		}
		sent := rate * s.b.scale.round.Seconds()
		used += time.Duration(float64(after[0]-before[0]) / max(sent, 1))
		database += time.Duration(float64(after[1]-before[1]) / max(sent, 1))
		r.rates = append(r.rates, rate)
		r.compare(yard)
		s.b.log("  %.0f deliveries/s, bare %.0f/s", rate, yard)
		if err := s.queue.clear(ctx); err != nil {
			return nil, err
		}
	}
	each := time.Duration(s.b.scale.rounds)
	return []row{{
		what:   fmt.Sprintf("deliveries to %d receivers that take %s, at most %d at a time and %d to each", n, receiving, inFlight, perReceiver),
		figure: fmt.Sprintf("%.0f deliveries/s", median(r.rates)),
		beside: fmt.Sprintf("bare requests, as many at a time: %.0f/s; the receivers could take %.0f/s", median(r.yard), limit(n)),
		ratio:  r.ratio(),
		bound:  fmt.Sprintf("CPU: per delivery broker %s, PostgreSQL %s; two commits (the claim of a batch, the outcome)", brief(used/each), brief(database/each)),
	}}, nil
}

func (s *dispatch) cpu() (used [2]time.Duration, err error) {
	if used[0], err = cpuOf(s.broker.pid()); err != nil {
		return used, err
	}
	used[1], err = cpuOfTree(s.pg.pid)
	return used, err
}

// backlog compares lags with and without deliveries that wait for later.
func (s *dispatch) backlog(ctx context.Context) ([]row, error) {
	n := s.healthy(200)
	var with, without lags
	for range s.b.scale.rounds {
		if err := without.take(s.lag(ctx, n)); err != nil {
			return nil, err
		}
		if err := s.queue.place(ctx, fill{count: s.b.scale.queued, of: n, due: time.Now().Add(time.Hour)}); err != nil {
			return nil, err
		}
		if err := with.take(s.lag(ctx, n)); err != nil {
			return nil, err
		}
		s.b.log("  lag %s, with rows for later %s", without.last(), with.last())
		if err := s.queue.clear(ctx); err != nil {
			return nil, err
		}
	}
	return []row{{
		what:   fmt.Sprintf("due → received, %d rows queued for later: one due every %s, %d receivers", s.b.scale.queued, dueEvery, n),
		figure: with.String(),
		beside: "without them, in turns: " + without.String(),
		ratio:  with.ratio(&without) + " at p99",
		bound:  "waiting for the next claim, at most one in 5 ms; then a commit and an HTTP request",
	}}, nil
}

// oneHangs compares what the others get with and without an endpoint that never
// answers.
func (s *dispatch) oneHangs(ctx context.Context) ([]row, error) {
	n := s.healthy(s.b.scale.endpoints)
	r := &rounds{}
	var with, without lags
	for range s.b.scale.rounds {
		var yard float64
		for _, hanging := range []bool{false, true} {
			rate, err := s.besideOne(ctx, n, hanging, s.rate)
			if err != nil {
				return nil, err
			}
			times := &without
			if hanging {
				times = &with
				r.rates = append(r.rates, rate)
				r.compare(yard)
			}
			yard = rate
			if _, err := s.besideOne(ctx, n, hanging, func(ctx context.Context, n int) (float64, error) {
				return 0, times.take(s.lag(ctx, n))
			}); err != nil {
				return nil, err
			}
		}
		s.b.log("  %.0f/s beside one that hangs, %.0f/s without; lag %s and %s", r.rates[len(r.rates)-1], r.yard[len(r.yard)-1], with.last(), without.last())
	}
	what := fmt.Sprintf("one of %d endpoints hangs with %d deliveries due: ", len(s.urls), s.b.scale.hanging)
	return []row{
		{
			what:   what + "the others' throughput",
			figure: fmt.Sprintf("%.0f deliveries/s", median(r.rates)),
			beside: fmt.Sprintf("without it, in turns: %.0f/s", median(r.yard)),
			ratio:  r.ratio(),
			bound:  fmt.Sprintf("it holds %d of %d requests, and claims have to look past its backlog", perReceiver, inFlight),
		},
		{
			what:   what + fmt.Sprintf("the others' due → received, one due every %s", dueEvery),
			figure: with.String(),
			beside: "without it, in turns: " + without.String(),
			ratio:  with.ratio(&without) + " at p99",
			bound:  "as above: the query that looks past its backlog",
		},
	}, nil
}

// besideOne measures with or without the endpoint that hangs, and clears.
func (s *dispatch) besideOne(ctx context.Context, n int, hanging bool, measure func(context.Context, int) (float64, error)) (float64, error) {
	if hanging {
		if err := s.hang(ctx); err != nil {
			return 0, err
		}
	}
	rate, err := measure(ctx, n)
	if err != nil {
		return 0, err
	}
	if err := s.queue.clear(ctx); err != nil {
		return 0, err
	}
	return rate, nil
}
