package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"bellhop/protocol"
)

// ingestion is a broker that receives events.
type ingestion struct {
	*run
	pg      *cluster
	broker  *child
	url     string
	targets []*target
}

// ingest posts webhooks and, in turns, writes rows with pgbench and COPY.
func ingest(r *run) []row {
	s := &ingestion{run: r, pg: r.cluster()}
	must(r.connect(s.pg, "postgres").Exec(r.ctx, reference))
	host := r.stub()
	broker := r.broker(s.pg, host.url)
	s.broker, s.url = broker.child, broker.url
	s.targets = each(s.checkIns(broker, s.scale.tasks), func(in *protocol.CheckInResponse) *target {
		hook := must(url.Parse(host.webhook(in.SessionID))) // the stub learned it by the check-in
		return &target{id: in.SessionID, turn: in.TurnID, webhook: hook.RequestURI()}
	})
	fsync := fsyncCost(s.pg.Dir())
	single, batched, costs := s.posting(0), s.posting(r.scale.batch), []time.Duration{}
	singles := inTurns(r, single.post, func() rate {
		yard, cost := s.pg.pgbench(r.scale.clients, r.scale.round)
		costs = append(costs, cost)
		return yard
	})
	batches := inTurns(r, batched.post, s.copyEvents)
	s.verify(single.events + batched.events)
	rows := []row{
		rateRow(fmt.Sprintf("webhook, one event a request, %d clients, %d tasks", r.scale.clients, r.scale.tasks),
			"events", singles, fmt.Sprintf("pgbench, rows, one a transaction, %d clients", r.scale.clients),
			fmt.Sprintf("CPU: per event %s (pgbench: PostgreSQL %s a row); an fsync takes %s",
				single.cpu(), brief(median(costs)), brief(fsync))).adding(single.latency.String()),
		rateRow(fmt.Sprintf("webhook, %d events a request, %d clients", r.scale.batch, r.scale.clients),
			"events", batches, "COPY of the same events as rows, one client", "CPU: per event "+batched.cpu()).
			adding(batched.latency.String() + " a request"),
	}
	if r.reference == "" {
		return rows
	}
	return append(rows, s.besideNode(host))
}

// besideNode measures single events in turns with the Node broker.
func (s *ingestion) besideNode(host *stub) row {
	node := s.nodeBroker(s.pg)
	other := &ingestion{
		run: s.run, pg: s.pg, broker: node.child, url: node.url, targets: node.targets(host, s.scale.tasks),
	}
	own, theirs := s.posting(0), other.posting(0)
	t := inTurns(s.run, own.post, theirs.post)
	var stored int
	check(s.connect(s.pg, "reference").QueryRow(s.ctx,
		`SELECT count(*) FROM messages WHERE role = 'ASSISTANT'`).Scan(&stored))
	if stored != theirs.events {
		check(fmt.Errorf("the Node broker acknowledged %d events and stored %d messages", theirs.events, stored))
	}
	return rateRow("webhook, one event a request, beside a broker in Node", "events", t,
		"the Node broker, one process: events",
		fmt.Sprintf("CPU: per event %s (Node broker: %s); p50 and p99 of both in the last round: %s, %s",
			own.cpu(), theirs.cpu(), own.latency, theirs.latency))
}

// posting is one way of posting, with its results.
type posting struct {
	*ingestion
	batch   int // events in a request; 0 = single events without a batch
	events  int
	latency spread // of the last round
	used    *meter
}

func (s *ingestion) posting(batch int) *posting {
	return &posting{ingestion: s, batch: batch, used: newMeter(s.broker.Pid(), s.pg.pid, os.Getpid())}
}

// post measures one round, in which every client cycles through its own tasks.
func (p *posting) post() rate {
	var times samples
	var elapsed time.Duration
	clients := p.scale.clients
	p.used.during(func() {
		start := time.Now()
		p.parallel(clients, clients, func(ctx context.Context, c int) {
			sender := p.dial(ctx)
			defer sender.Close()
			for i := c; time.Since(start) < p.scale.round; i = (i + clients) % len(p.targets) {
				before := time.Now()
				sender.post(p.targets[i], p.batch)
				times.add(time.Since(before))
			}
		})
		elapsed = time.Since(start)
	})
	p.latency = times.spread()
	events := p.latency.Count * max(p.batch, 1)
	p.events += events
	return rate(float64(events) / elapsed.Seconds())
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
	conn := s.connect(s.pg, "bellhop")
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
func (s *ingestion) verify(acknowledged int) {
	var events, messages int
	check(s.connect(s.pg, "bellhop").QueryRow(s.ctx,
		`SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM messages WHERE role = 'ASSISTANT')`,
	).Scan(&events, &messages))
	if events != acknowledged || messages != acknowledged {
		check(fmt.Errorf("%d events were acknowledged, %d events and %d messages are stored", acknowledged, events, messages))
	}
}

// target is a task that receives events. Each target belongs to one client.
type target struct {
	id, turn, webhook string
	seq               int64
}

// poster is one connection with minimal HTTP, because on the same cores a heavy
// client would measure itself.
type poster struct {
	net.Conn
	in        *bufio.Reader
	body, out []byte
}

func (p *posting) dial(ctx context.Context) *poster {
	conn := must((&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(p.url, "http://")))
	return &poster{Conn: conn, in: bufio.NewReader(conn)}
}

// post returns when the request was acknowledged.
func (p *poster) post(t *target, batch int) {
	p.body = p.body[:0]
	if batch == 0 {
		p.body = t.event(p.body, `"sessionId":"`+t.id+`",`)
	} else {
		p.body = fmt.Appendf(p.body, `{"sessionId":"%s","events":[`, t.id)
		for range batch {
			p.body = append(t.event(p.body, ""), ',')
		}
		p.body = append(p.body[:len(p.body)-1], "]}"...)
	}
	p.out = fmt.Appendf(p.out[:0], "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n", t.webhook, p.RemoteAddr(), len(p.body))
	must(p.Write(append(p.out, p.body...)))
	body := must(successful(http.ReadResponse(p.in, nil)))
	must(io.Copy(io.Discard, body))
	check(body.Close())
}

var words = strings.Repeat("a few words ", 12)

// event adds the task's next event to b.
func (t *target) event(b []byte, first string) []byte {
	t.seq++
	b = append(append(b, '{'), first...)
	return fmt.Appendf(b, `"type":"text","id":"txt_%d","text":"%s","timestamp":%d,"eventId":"%s","epoch":1,"seq":%d,`+
		`"turnId":"%s"}`,
		t.seq, words, time.Now().UnixMilli(), protocol.NewID(), t.seq, t.turn)
}
