package outbound_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/crypto/seal"
	"bellhop/crypto/signature"
	"bellhop/internal/netguard"
	"bellhop/internal/testenv"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/outboundtest"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

const agentKind = "agent"

// kit is a service and a worker with a manual clock.
type kit struct {
	*testing.T
	site            *outboundtest.Site
	clock           *testenv.Clock
	ahead           time.Duration // of the held-back time
	worker          *outbound.Worker
	recordedNotices *recordedNotices
	user            string
}

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func newKit(t *testing.T, site *outboundtest.Site, change ...func(*outbound.WorkerOptions)) *kit {
	t.Helper()
	p := &kit{T: t, site: site, clock: testenv.NewClock(start), recordedNotices: &recordedNotices{}, user: site.User(t)}
	p.worker = p.process(site.Store, change...)
	return p
}

// process returns another worker on the same clock and store, like that of another process.
func (p *kit) process(store outbound.Store, change ...func(*outbound.WorkerOptions)) *outbound.Worker {
	guard := netguard.New(netguard.Options{AllowLoopback: true})
	client := guard.Client(netguard.Timeouts{})
	p.Cleanup(client.CloseIdleConnections)
	service := outbound.New(outbound.Options{
		Store: store, CheckURL: guard.CheckURL, Console: "https://bell.example/base", Now: p.clock.Now,
		Held: func() time.Time { return p.clock.Now().Add(-p.ahead) },
		Log:  slog.New(slog.NewTextHandler(p.Output(), nil)),
	})
	o := outbound.WorkerOptions{
		Client: client, Random: func() float64 { return 0.5 },
		Kinds: map[string]outbound.Kind{
			agentKind: {Render: render, Notices: p.recordedNotices}, outbound.KindTask: {Notices: p.recordedNotices},
		},
	}
	for _, c := range change {
		c(&o)
	}
	return outbound.NewWorker(service, o)
}

func render(_ context.Context, d *outbound.Delivery) ([]byte, error) {
	return []byte(`{"messageId":"` + d.MessageID + `"}`), nil
}

func (p *kit) endpoint(url string) *outbound.Endpoint {
	p.Helper()
	e, err := p.worker.Register(p.Context(), p.user, outbound.EndpointRequest{Kind: agentKind, URL: url})
	p.must(err)
	return e
}

func (p *kit) enqueue(e *outbound.Endpoint, order string, messages ...string) (ids []string) {
	p.Helper()
	for _, m := range messages {
		id, err := p.worker.Enqueue(p.Context(), outbound.Message{
			EndpointID: e.ID, MessageID: m, OrderKey: order, Event: "followup_message",
		})
		p.must(err)
		ids = append(ids, id)
	}
	return ids
}

func (p *kit) sweep() {
	p.Helper()
	p.must(p.worker.Sweep(p.Context()))
}

func (p *kit) delivery(id string) *outbound.Delivery {
	p.Helper()
	d, err := p.site.Store.Delivery(p.Context(), p.user, id)
	p.must(err)
	return d
}

// next advances the clock to the moment a delivery is due, sends, and returns by how much it
// advanced.
func (p *kit) next(id string) time.Duration {
	p.Helper()
	d := p.delivery(id)
	if d.FinishedAt != nil {
		p.Fatalf("%s is %s: %s", id, d.State, d.Reason)
	}
	pause := d.NextAt.Sub(p.clock.Now())
	p.clock.Advance(pause)
	p.sweep()
	return pause
}

func (p *kit) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *kit) code(err error, want protocol.Code) {
	p.Helper()
	if got := protocol.CodeOf(err); got != want {
		p.Errorf("code %q, want %q: %v", got, want, err)
	}
}

// state returns the state and reason, such as "failed status 400".
func (p *kit) state(id string) string {
	p.Helper()
	d := p.delivery(id)
	return strings.TrimSpace(string(d.State) + " " + d.Reason)
}

// line returns a delivery's log in short: "500 500 200", "timeout 200".
func (p *kit) line(id string) string {
	p.Helper()
	var words []string
	for i, a := range p.delivery(id).Log {
		word := a.Error
		if a.Status != 0 {
			word = strings.TrimSuffix(fmt.Sprintf("%d/%s", a.Status, a.Error), "/")
		}
		if a.Number != i+1 {
			p.Errorf("attempt %d has number %d", i+1, a.Number)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// recordedNotices records the calls of Notices.
type recordedNotices struct {
	mu     sync.Mutex
	lines  []string
	refuse func(d *outbound.Delivery) error
}

func (n *recordedNotices) add(line string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
	return nil
}

func (n *recordedNotices) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := strings.Join(n.lines, "; ")
	n.lines = nil
	return all
}

func (n *recordedNotices) Delivered(_ context.Context, d *outbound.Delivery, reply []byte) error {
	if n.refuse != nil {
		if err := n.refuse(d); err != nil {
			return err
		}
	}
	return n.add(strings.TrimSpace("delivered " + d.MessageID + " " + string(reply)))
}

func (n *recordedNotices) Failed(_ context.Context, d *outbound.Delivery, reason string) error {
	return n.add("failed " + d.MessageID + " " + reason)
}

func (n *recordedNotices) Disabled(_ context.Context, e *outbound.Endpoint, reason string) error {
	return n.add("disabled " + e.OwnerID + " " + reason)
}

func verify(t *testing.T, requests []outboundtest.Request, secrets ...seal.Secret) {
	t.Helper()
	for i, r := range requests {
		for _, s := range secrets {
			if err := r.Verify(s); err != nil {
				t.Errorf("request %d: %v", i+1, err)
			}
		}
	}
}

func key(t *testing.T, secret seal.Secret) signature.Key {
	t.Helper()
	k, err := signature.Parse(secret)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
