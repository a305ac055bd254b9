package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// ingestion is a broker that receives events.
type ingestion struct {
	*run
	pg     *cluster
	broker *brokerProcess
	load   *peer
}

// ingest posts webhooks and, in turns, writes rows with pgbench and COPY.
func ingest(r *run) []row {
	s := &ingestion{run: r, pg: r.cluster()}
	must(r.connect(s.pg, "postgres").Exec(r.ctx, reference))
	host := r.stub()
	s.broker, s.load = r.broker(s.pg, host.url), r.role("load")
	s.load.do("Tasks", s.targets(host))
	fsync := fsyncCost(s.pg.Dir())
	single, costs := &posted{}, []time.Duration{}
	for range r.scale.rounds {
		yard, cost := s.pg.pgbench(r.scale.clients, r.scale.round)
		s.post(0, single)
		single.yard, costs = append(single.yard, yard), append(costs, cost)
		r.log("  one a request %.0f/s, pgbench %.0f/s", last(single.rates), yard)
	}
	batched := &posted{}
	for range r.scale.rounds {
		s.post(r.scale.batch, batched)
		batched.yard = append(batched.yard, s.copyEvents())
		r.log("  batched %.0f/s, COPY %.0f/s", last(batched.rates), last(batched.yard))
	}
	s.verify(single.events + batched.events)
	return []row{
		{
			what:   fmt.Sprintf("webhook, one event a request, %d clients, %d tasks", r.scale.clients, r.scale.tasks),
			figure: fmt.Sprintf("%.0f events/s, %s", median(single.rates), single.latency),
			beside: fmt.Sprintf("pgbench, one row a transaction, %d clients: %.0f rows/s", r.scale.clients, median(single.yard)),
			ratio:  ratio(single.rates, single.yard),
			bound: fmt.Sprintf("CPU: per event %s (pgbench: PostgreSQL %s a row); an fsync takes %s",
				single.cpu(), brief(median(costs)), brief(fsync)),
		},
		{
			what:   fmt.Sprintf("webhook, %d events a request, %d clients", r.scale.batch, r.scale.clients),
			figure: fmt.Sprintf("%.0f events/s, %s a request", median(batched.rates), batched.latency),
			beside: fmt.Sprintf("COPY of the same events, one client: %.0f rows/s", median(batched.yard)),
			ratio:  ratio(batched.rates, batched.yard),
			bound:  "CPU: per event " + batched.cpu() + "; beside the event's row there is one of the changes in a request, COPY writes the event alone",
		},
	}
}

// targets returns tasks after their check-in, by which the stub learns their
// webhook URLs.
func (s *ingestion) targets(host *stub) []*Target {
	var targets []*Target
	for _, task := range s.checkIns(s.broker, s.scale.tasks) {
		hook := must(url.Parse(host.webhook(task.id)))
		targets = append(targets, &Target{ID: task.id, Turn: task.TurnID, Webhook: hook.RequestURI()})
	}
	return targets
}

// posted holds the results of one way of posting.
type posted struct {
	rates, yard []float64
	events      int64
	latency     spread           // of the last round
	used        [3]time.Duration // CPU
}

func (s *ingestion) post(batch int, p *posted) {
	var result PostResult
	used := cpuDuring(func() {
		result = ask[PostResult](s.load, "Post", PostOrder{
			Address: strings.TrimPrefix(s.broker.url, "http://"), Clients: s.scale.clients, Batch: batch, For: s.scale.round,
		})
	}, s.broker.Pid(), s.pg.pid, s.load.Pid())
	for i := range used {
		p.used[i] += used[i]
	}
	p.events += result.Events
	p.latency = result.Latency
	p.rates = append(p.rates, float64(result.Events)/result.Elapsed.Seconds())
}

// cpu formats how the CPU time of an event is divided.
func (p *posted) cpu() string {
	var parts []string
	for i, name := range []string{"broker", "PostgreSQL", "load generator"} {
		parts = append(parts, fmt.Sprintf("%s %.0f µs", name, float64(p.used[i].Microseconds())/float64(p.events)))
	}
	return strings.Join(parts, ", ")
}

// copyEvents copies stored events into a table with an index on their ids and one on
// their positions, and returns rows per second.
func (s *ingestion) copyEvents() float64 {
	conn := must(s.pg.dial(s.ctx, "bellhop"))
	defer func() { check(conn.Close(context.WithoutCancel(s.ctx))) }()
	must(conn.Exec(s.ctx, `DROP TABLE IF EXISTS copied; CREATE TABLE copied (task_id text, event_id text, epoch bigint, seq bigint,
		turn_id text, type text, body text, late boolean, received_at timestamptz, PRIMARY KEY (task_id, event_id), UNIQUE (task_id, epoch, seq))`))
	var stored bytes.Buffer
	must(conn.PgConn().CopyTo(s.ctx, &stored, `COPY (SELECT * FROM events LIMIT 200000) TO STDOUT`))
	start := time.Now()
	tag := must(conn.PgConn().CopyFrom(s.ctx, &stored, `COPY copied FROM STDIN`))
	return float64(tag.RowsAffected()) / time.Since(start).Seconds()
}

// verify fails unless every acknowledged event is a row.
func (s *ingestion) verify(acknowledged int64) {
	var events, messages int64
	check(s.connect(s.pg, "bellhop").QueryRow(s.ctx,
		`SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM messages WHERE role = 'ASSISTANT')`).Scan(&events, &messages))
	if events != acknowledged || messages != acknowledged {
		check(fmt.Errorf("%d events were acknowledged, %d events and %d messages are stored", acknowledged, events, messages))
	}
}
