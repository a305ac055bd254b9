package outbound_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"bellhop/internal/netguard"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/outboundtest"
)

// bench is a worker with receivers on loopback ports; each receiver counts as a host.
type bench struct {
	*testing.B
	site      *outboundtest.Site
	worker    *outbound.Worker
	user      string
	endpoints []*outbound.Endpoint

	mu   sync.Mutex
	due  map[string]time.Time // of counted messages that have not arrived, by webhook-id
	lags []time.Duration      // from due to arrived
	left int                  // counted messages that have not arrived
	done chan struct{}        // closed when left is 0
}

func newBench(b *testing.B, site *outboundtest.Site, receivers int, takes func(host int) time.Duration) *bench {
	b.Helper()
	n := &bench{B: b, site: site, user: site.User(b), due: map[string]time.Time{}}
	guard := netguard.New(netguard.Options{AllowLoopback: true})
	client := guard.Client(netguard.Timeouts{})
	b.Cleanup(client.CloseIdleConnections)
	service := outbound.New(outbound.Options{
		Store: site.Store, CheckURL: guard.CheckURL, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	n.worker = outbound.NewWorker(service, outbound.WorkerOptions{Client: client, Kinds: map[string]outbound.Kind{}})
	for i := range receivers {
		n.endpoints = append(n.endpoints, n.receiver(i, takes(i)))
	}
	return n
}

func (n *bench) receiver(i int, takes time.Duration) *outbound.Endpoint {
	n.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client left
		n.arrived(r.Header.Get("webhook-id"))
		select {
		case <-time.After(takes):
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	server.Start()
	n.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	e, err := n.worker.Register(context.Background(), n.user, outbound.EndpointRequest{Kind: agentKind, URL: server.URL})
	if err != nil {
		n.Fatal(i, err)
	}
	return e
}

func (n *bench) arrived(id string) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	due, counted := n.due[id]
	if !counted {
		return
	}
	delete(n.due, id)
	n.lags = append(n.lags, now.Sub(due))
	if n.left--; n.left == 0 {
		close(n.done)
	}
}

// enqueue inserts deliveries in one transaction. If they are counted, done is closed when
// all have arrived.
func (n *bench) enqueue(counted bool, messages ...outbound.Message) {
	n.Helper()
	now := time.Now()
	n.mu.Lock()
	if counted {
		n.left, n.done, n.lags = len(messages), make(chan struct{}), nil
		for _, m := range messages {
			n.due[m.MessageID] = now
		}
	}
	n.mu.Unlock()
	err := n.site.Store.Write(context.Background(), func(ctx context.Context) error {
		for _, m := range messages {
			if _, err := n.worker.Enqueue(ctx, m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		n.Fatal(err)
	}
}

// messages returns messages for the endpoints, round robin.
func (n *bench) messages(name string, each int, endpoints []*outbound.Endpoint) []outbound.Message {
	var all []outbound.Message
	for m := range each {
		for i, e := range endpoints {
			all = append(all, outbound.Message{
				EndpointID: e.ID, MessageID: fmt.Sprintf("%s_%d_%d", name, i, m), Body: []byte(`{"type":"bench"}`),
			})
		}
	}
	return all
}

func (n *bench) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = n.worker.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

func (n *bench) lag(quantile float64) float64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.Sort(n.lags)
	return float64(n.lags[int(quantile*float64(len(n.lags)-1))].Microseconds()) / 1000
}

func databases(b *testing.B, do func(b *testing.B, site *outboundtest.Site)) {
	b.Helper()
	b.Run("postgres", func(b *testing.B) { do(b, outboundtest.Postgres(b)) })
	b.Run("sqlite", func(b *testing.B) { do(b, outboundtest.SQLite(b)) })
}

func fast(int) time.Duration { return 50 * time.Millisecond }

// BenchmarkDeliveries measures deliveries per second to 64 receivers that take 50 ms: 4 in
// flight each, 128 in all, allow at most 2 560/s.
func BenchmarkDeliveries(b *testing.B) {
	databases(b, func(b *testing.B, site *outboundtest.Site) {
		n := newBench(b, site, 64, fast)
		round := 0
		for b.Loop() {
			b.StopTimer()
			round++
			messages := n.messages(fmt.Sprint("r", round), 40, n.endpoints)
			n.enqueue(true, messages...)
			b.StartTimer()
			began := time.Now()
			stop := n.run()
			<-n.done
			took := time.Since(began)
			b.StopTimer()
			stop()
			b.ReportMetric(float64(len(messages))/took.Seconds(), "deliveries/s")
			b.StartTimer()
		}
	})
}

// BenchmarkLag measures the time from due to received with 100 000 deliveries queued for later
// and 200 becoming due each second.
func BenchmarkLag(b *testing.B) {
	databases(b, func(b *testing.B, site *outboundtest.Site) {
		n := newBench(b, site, 200, fast)
		n.later(100_000)
		stop := n.run()
		defer stop()
		round := 0
		for b.Loop() {
			round++
			messages := n.messages(fmt.Sprint("r", round), 5, n.endpoints)
			start := time.Now().Add(time.Second)
			b.StopTimer()
			n.enqueueSpaced(messages, start, 5*time.Millisecond)
			b.StartTimer()
			<-n.done
			b.ReportMetric(n.lag(0.5), "ms-p50")
			b.ReportMetric(n.lag(0.99), "ms-p99")
		}
	})
}

// later fills the queue with deliveries that are due in an hour or more.
func (n *bench) later(count int) {
	n.Helper()
	const slice = 5000 // small enough for the statement timeout
	for from := 0; from < count; from += slice {
		n.site.Exec(n.B, `INSERT INTO deliveries (id, endpoint_id, user_id, kind, host, message_id, event, order_key, position, state, reason,
				attempts, lease, next_at, expires_at, created_at)
			WITH RECURSIVE n (i) AS (SELECT ? + 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			SELECT 'later' || n.i, e.id, e.user_id, e.kind, e.host, 'later' || n.i, '', '', 1, 'queued', '', 0, '', ?, ?, ?
			FROM n JOIN (SELECT w.*, row_number() OVER (ORDER BY id) AS r FROM webhook_endpoints w) e ON e.r = n.i % ? + 1`,
			from, from+slice, time.Now().Add(time.Hour).UTC(), time.Now().Add(24*time.Hour).UTC(),
			time.Now().UTC(), len(n.endpoints))
	}
}

// enqueueSpaced enqueues counted messages that become due one after the other.
func (n *bench) enqueueSpaced(messages []outbound.Message, start time.Time, apart time.Duration) {
	n.Helper()
	n.mu.Lock()
	n.left, n.done, n.lags = len(messages), make(chan struct{}), nil
	n.mu.Unlock()
	err := n.site.Store.Write(context.Background(), func(ctx context.Context) error {
		found, err := n.site.Store.EndpointsByID(ctx, []string{messages[0].EndpointID})
		if err != nil {
			return err
		}
		hosts := map[string]string{}
		for _, e := range n.endpoints {
			hosts[e.ID] = e.Host()
		}
		kind := found[messages[0].EndpointID].Kind
		for i, m := range messages {
			at := start.Add(time.Duration(i) * apart).UTC().Truncate(time.Microsecond)
			n.mu.Lock()
			n.due[m.MessageID] = at
			n.mu.Unlock()
			d := &outbound.Delivery{
				ID: m.MessageID, EndpointID: m.EndpointID, UserID: n.user, Kind: kind, Host: hosts[m.EndpointID],
				MessageID: m.MessageID,
				Body:      m.Body, State: outbound.Queued, NextAt: at, ExpiresAt: at.Add(time.Hour), CreatedAt: at,
			}
			if _, err := n.site.Store.Insert(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		n.Fatal(err)
	}
}

// BenchmarkOneOfAThousandHangs measures the lag of 999 endpoints, once beside an endpoint that
// hangs with a backlog of 2 000 and once beside a healthy one.
func BenchmarkOneOfAThousandHangs(b *testing.B) {
	for name, backlog := range map[string]int{"hanging": 2000, "healthy": 0} {
		b.Run(name, func(b *testing.B) {
			databases(b, func(b *testing.B, site *outboundtest.Site) {
				n := newBench(b, site, 1000, func(i int) time.Duration {
					if i == 0 && backlog > 0 {
						return time.Minute
					}
					return 50 * time.Millisecond
				})
				round := 0
				for b.Loop() {
					b.StopTimer()
					round++
					if backlog > 0 {
						n.enqueue(false, n.messages(fmt.Sprint("dead", round), backlog, n.endpoints[:1])...)
					}
					messages := n.messages(fmt.Sprint("r", round), 2, n.endpoints[1:])
					n.enqueueSpaced(messages, time.Now().Add(2*time.Second), 2*time.Millisecond)
					stop := n.run()
					b.StartTimer()
					<-n.done
					b.StopTimer()
					stop()
					b.ReportMetric(n.lag(0.99), "ms-p99")
					b.ReportMetric(n.lag(1), "ms-max")
					b.StartTimer()
				}
			})
		})
	}
}
