package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bellhop/protocol"
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
	single, batched, costs := s.posting(0), s.posting(r.scale.batch), []time.Duration{}
	singles := inTurns(r, single.post, func() rate {
		yard, cost := s.pg.pgbench(r.scale.clients, r.scale.round)
		costs = append(costs, cost)
		return yard
	})
	batches := inTurns(r, batched.post, s.copyEvents)
	s.verify(single.events + batched.events)
	return []row{{
		what:   fmt.Sprintf("webhook, one event a request, %d clients, %d tasks", r.scale.clients, r.scale.tasks),
		figure: fmt.Sprintf("%.0f events/s, %s", median(singles.own), single.latency),
		beside: fmt.Sprintf("pgbench, one row a transaction, %d clients: %.0f rows/s", r.scale.clients, median(singles.yard)),
		ratio:  ratio(singles.own, singles.yard),
		bound: fmt.Sprintf("CPU: per event %s (pgbench: PostgreSQL %s a row); an fsync takes %s",
			single.cpu(), brief(median(costs)), brief(fsync)),
	}, {
		what:   fmt.Sprintf("webhook, %d events a request, %d clients", r.scale.batch, r.scale.clients),
		figure: fmt.Sprintf("%.0f events/s, %s a request", median(batches.own), batched.latency),
		beside: fmt.Sprintf("COPY of the same events, one client: %.0f rows/s", median(batches.yard)),
		ratio:  ratio(batches.own, batches.yard),
		bound: "CPU: per event " + batched.cpu() +
			"; beside the event's row there is one of the changes in a request, COPY writes the event alone",
	}}
}

// targets returns tasks after their check-in, by which the stub learns their
// webhook URLs.
func (s *ingestion) targets(host *stub) []*Target {
	return each(s.checkIns(s.broker, s.scale.tasks), func(task checkedIn) *Target {
		hook := must(url.Parse(host.webhook(task.id)))
		return &Target{ID: task.id, Turn: task.TurnID, Webhook: hook.RequestURI()}
	})
}

// posting is one way of posting, with its results.
type posting struct {
	*ingestion
	batch   int
	events  int64
	latency spread // of the last round
	used    *meter
}

func (s *ingestion) posting(batch int) *posting {
	return &posting{ingestion: s, batch: batch, used: newMeter(s.broker.Pid(), s.pg.pid, s.load.Pid())}
}

// post measures one round.
func (p *posting) post() rate {
	var result PostResult
	p.used.during(func() {
		result = ask[PostResult](p.load, "Post", PostOrder{
			Address: strings.TrimPrefix(p.broker.url, "http://"), Clients: p.scale.clients, Batch: p.batch, For: p.scale.round,
		})
	})
	p.events += result.Events
	p.latency = result.Latency
	return rate(float64(result.Events) / result.Elapsed.Seconds())
}

// cpu formats how the CPU time of an event is divided.
func (p *posting) cpu() string {
	var parts []string
	for i, name := range []string{"broker", "PostgreSQL", "load generator"} {
		parts = append(parts, fmt.Sprintf("%s %.0f µs", name, float64(p.used.sums[i].Microseconds())/float64(p.events)))
	}
	return strings.Join(parts, ", ")
}

// copyEvents copies stored events into a table with an index on their ids and one on
// their positions, and returns rows per second.
func (s *ingestion) copyEvents() rate {
	conn := must(s.pg.dial(s.ctx, "bellhop"))
	defer func() { check(conn.Close(context.WithoutCancel(s.ctx))) }()
	must(conn.Exec(s.ctx, `DROP TABLE IF EXISTS copied; CREATE TABLE copied (
		task_id text, event_id text, epoch bigint, seq bigint, turn_id text, type text, body text, late boolean,
		received_at timestamptz, PRIMARY KEY (task_id, event_id), UNIQUE (task_id, epoch, seq))`))
	var stored bytes.Buffer
	must(conn.PgConn().CopyTo(s.ctx, &stored, `COPY (SELECT * FROM events LIMIT 200000) TO STDOUT`))
	start := time.Now()
	tag := must(conn.PgConn().CopyFrom(s.ctx, &stored, `COPY copied FROM STDIN`))
	return rate(float64(tag.RowsAffected()) / time.Since(start).Seconds())
}

// verify fails unless every acknowledged event is a row.
func (s *ingestion) verify(acknowledged int64) {
	var events, messages int64
	check(s.connect(s.pg, "bellhop").QueryRow(s.ctx,
		`SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM messages WHERE role = 'ASSISTANT')`,
	).Scan(&events, &messages))
	if events != acknowledged || messages != acknowledged {
		check(fmt.Errorf("%d events were acknowledged, %d events and %d messages are stored", acknowledged, events, messages))
	}
}

// loadRole posts webhooks with minimal HTTP, because on the same cores a heavy
// client would measure itself.
type loadRole struct{ tasks []*Target }

// Target is a task that receives events. Each target belongs to one client.
type Target struct {
	ID, Turn, Webhook string
	Seq               int64
}

// PostOrder is the configuration of the posting clients.
type PostOrder struct {
	Address string
	Clients int
	Batch   int // 0 = single events without a batch
	For     time.Duration
}

// PostResult describes the acknowledged events.
type PostResult struct {
	Events  int64
	Elapsed time.Duration
	Latency spread
}

// Tasks sets the tasks that receive events.
func (l *loadRole) Tasks(tasks []*Target, _ *bool) error { //nolint:unparam // net/rpc wants it
	l.tasks = tasks
	return nil
}

// Post makes every client cycle through its own tasks until the time is over.
func (l *loadRole) Post(o PostOrder, out *PostResult) error {
	var times samples
	start := time.Now()
	err := parallel(context.Background(), o.Clients, o.Clients, func(ctx context.Context, c int) {
		conn := must((&net.Dialer{}).DialContext(ctx, "tcp", o.Address))
		defer conn.Close()
		p := &poster{conn: conn, in: bufio.NewReader(conn), host: o.Address}
		for i := c; time.Since(start) < o.For && ctx.Err() == nil; i = (i + o.Clients) % len(l.tasks) {
			before := time.Now()
			p.post(l.tasks[i], o.Batch)
			times.add(time.Since(before))
		}
	})
	*out = PostResult{Elapsed: time.Since(start), Latency: times.spread()}
	out.Events = int64(out.Latency.Count * max(o.Batch, 1))
	return err
}

// poster is one connection.
type poster struct {
	conn      net.Conn
	in        *bufio.Reader
	host      string
	body, out []byte
}

// post returns when the request was acknowledged.
func (p *poster) post(t *Target, batch int) {
	p.body = p.body[:0]
	if batch == 0 {
		p.body = t.event(p.body, `"sessionId":"`+t.ID+`",`)
	} else {
		p.body = fmt.Appendf(p.body, `{"sessionId":"%s","events":[`, t.ID)
		for range batch {
			p.body = append(t.event(p.body, ""), ',')
		}
		p.body = append(p.body[:len(p.body)-1], "]}"...)
	}
	p.out = fmt.Appendf(p.out[:0], "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n", t.Webhook, p.host, len(p.body))
	must(p.conn.Write(append(p.out, p.body...)))
	body := must(successful(http.ReadResponse(p.in, nil)))
	must(io.Copy(io.Discard, body))
	check(body.Close())
}

var words = strings.Repeat("a few words ", 12)

// event adds the task's next event to b.
func (t *Target) event(b []byte, first string) []byte {
	t.Seq++
	b = append(append(b, '{'), first...)
	return fmt.Appendf(b, `"type":"text","id":"txt_%d","text":"%s","timestamp":%d,"eventId":"%s","epoch":1,"seq":%d,`+
		`"turnId":"%s"}`,
		t.Seq, words, time.Now().UnixMilli(), protocol.NewID(), t.Seq, t.Turn)
}
