package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"bellhop/client"
	"bellhop/protocol"
)

// ingestion is the processes of this figure.
type ingestion struct {
	b      *bench
	pg     *cluster
	host   *stub
	broker *brokerProcess
	load   *peer
}

// measureIngest posts webhooks and, in turns, writes rows with pgbench and COPY.
func measureIngest(ctx context.Context, b *bench) (rows []row, err error) {
	s := &ingestion{b: b}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	fsync, err := fsyncCost(s.pg.dir)
	if err != nil {
		return nil, err
	}
	single, err := s.singles(ctx)
	if err != nil {
		return nil, err
	}
	batched, err := s.batches(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.verify(ctx, single.events+batched.events); err != nil {
		return nil, err
	}
	return []row{
		{
			what:   fmt.Sprintf("webhook, one event a request, %d clients, %d tasks", b.scale.clients, b.scale.tasks),
			figure: fmt.Sprintf("%.0f events/s, p50 %s, p99 %s", median(single.rates), brief(single.latency.P50), brief(single.latency.P99)),
			beside: fmt.Sprintf("pgbench, one row a transaction, %d clients: %.0f rows/s", b.scale.clients, median(single.yard)),
			ratio:  single.ratio(),
			bound:  "CPU: per event " + single.cpu() + " (pgbench: PostgreSQL " + brief(median(single.costs)) + " a row); an fsync takes " + brief(fsync),
		},
		{
			what:   fmt.Sprintf("webhook, %d events a request, %d clients", b.scale.batch, b.scale.clients),
			figure: fmt.Sprintf("%.0f events/s, p50 %s, p99 %s a request", median(batched.rates), brief(batched.latency.P50), brief(batched.latency.P99)),
			beside: fmt.Sprintf("COPY of the same events, one client: %.0f rows/s", median(batched.yard)),
			ratio:  batched.ratio(),
			bound:  "CPU: per event " + batched.cpu() + "; an event is three rows (event, message, change), COPY writes the event alone",
		},
	}, nil
}

func (s *ingestion) open(ctx context.Context) (err error) {
	if s.pg, err = startCluster(ctx); err != nil {
		return err
	}
	if err := s.pg.exec(ctx, yardstick); err != nil {
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
	if s.load, err = startRole("load"); err != nil {
		return err
	}
	targets, err := s.targets(ctx)
	if err != nil {
		return err
	}
	return s.load.order("tasks", targets, nil)
}

func (s *ingestion) close(ctx context.Context) error {
	var errs []error
	if s.load != nil {
		errs = append(errs, s.load.stop())
	}
	if s.broker != nil {
		errs = append(errs, s.broker.stop())
	}
	if s.host != nil {
		errs = append(errs, s.host.close())
	}
	if s.pg != nil {
		errs = append(errs, s.pg.stop(ctx))
	}
	transport.CloseIdleConnections()
	return errors.Join(errs...)
}

// targets checks in to every task, as a user would; the host is told the
// webhook.
func (s *ingestion) targets(ctx context.Context) ([]*target, error) {
	ids, err := s.broker.tasks(ctx, s.b.scale.tasks)
	if err != nil {
		return nil, err
	}
	c := client.New(s.broker.url, client.Options{Token: s.broker.token})
	defer c.CloseIdleConnections()
	targets := make([]*target, len(ids))
	return targets, together(ctx, len(ids), 8, func(ctx context.Context, i int) error {
		in, err := c.CheckIn(ctx, &protocol.CheckInRequest{TaskID: ids[i], Message: "work"})
		if err != nil {
			return err
		}
		hook, err := s.host.webhook(ids[i])
		if err != nil {
			return err
		}
		u, err := url.Parse(hook)
		if err != nil {
			return err
		}
		targets[i] = &target{ID: ids[i], Turn: in.TurnID, Webhook: u.RequestURI()}
		return nil
	})
}

// rounds are the results of one way of posting.
type rounds struct {
	rates, yard, ratios []float64
	events              int64
	latency             spread // of the last round
	used                [3]time.Duration
	costs               []time.Duration // of the yardstick, in PostgreSQL
}

// cpu tells where the time of an event went.
func (r *rounds) cpu() string {
	var parts []string
	for i, name := range []string{"broker", "PostgreSQL", "load generator"} {
		parts = append(parts, fmt.Sprintf("%s %.0f µs", name, float64(r.used[i].Microseconds())/float64(r.events)))
	}
	return strings.Join(parts, ", ")
}

func (s *ingestion) post(batch int, d time.Duration, r *rounds) error {
	before, err := s.cpu()
	if err != nil {
		return err
	}
	var result loadResult
	err = s.load.order("post", loadOrder{
		Address: strings.TrimPrefix(s.broker.url, "http://"), Clients: s.b.scale.clients, Batch: batch, For: d,
	}, &result)
	if err != nil {
		return err
	}
	after, err := s.cpu()
	if err != nil {
		return err
	}
	for i := range after {
		r.used[i] += after[i] - before[i]
	}
	r.events += result.Events
	r.latency = result.Latency
	r.rates = append(r.rates, float64(result.Events)/result.Elapsed.Seconds())
	return nil
}

func (s *ingestion) cpu() (used [3]time.Duration, err error) {
	if used[0], err = cpuOf(s.broker.pid()); err != nil {
		return used, err
	}
	if used[1], err = cpuOfTree(s.pg.pid); err != nil {
		return used, err
	}
	used[2], err = cpuOf(s.load.pid())
	return used, err
}

func (s *ingestion) singles(ctx context.Context) (*rounds, error) {
	r := &rounds{}
	for range s.b.scale.rounds {
		yard, cost, err := s.pg.pgbench(ctx, s.b.scale.clients, s.b.scale.round)
		if err != nil {
			return nil, err
		}
		if err := s.post(0, s.b.scale.round, r); err != nil {
			return nil, err
		}
		r.compare(yard)
		r.costs = append(r.costs, cost)
		s.b.log("  one a request %.0f/s, pgbench %.0f/s", r.rates[len(r.rates)-1], yard)
	}
	return r, nil
}

func (s *ingestion) batches(ctx context.Context) (*rounds, error) {
	r := &rounds{}
	for range s.b.scale.rounds {
		if err := s.post(s.b.scale.batch, s.b.scale.round, r); err != nil {
			return nil, err
		}
		yard, err := s.copyEvents(ctx)
		if err != nil {
			return nil, err
		}
		r.compare(yard)
		s.b.log("  batched %.0f/s, COPY %.0f/s", r.rates[len(r.rates)-1], yard)
	}
	return r, nil
}

func (r *rounds) compare(yard float64) {
	r.yard = append(r.yard, yard)
	r.ratios = append(r.ratios, r.rates[len(r.rates)-1]/yard)
}

func (r *rounds) ratio() string { return ratioOf(r.ratios) }

// verify insists that every event that was acknowledged is a row.
func (s *ingestion) verify(ctx context.Context, posted int64) (err error) {
	conn, err := s.pg.connect(ctx, "bellhop")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	var events, messages int64
	err = conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM messages WHERE role = 'ASSISTANT')`).
		Scan(&events, &messages)
	if err == nil && (events != posted || messages != posted) {
		err = fmt.Errorf("%d events were acknowledged, %d events and %d messages are stored", posted, events, messages)
	}
	return err
}
