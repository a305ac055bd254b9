package outbound_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/outboundtest"
)

// OUT-2: a delivery exists only if the message it reports was committed.
func TestEnqueueCommitsAndRollsBackWithItsTransaction(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, nil)
		e := p.endpoint(r.URL)
		refuse := errors.New("no")
		for _, end := range []error{refuse, nil} {
			err := site.Store.Write(t.Context(), func(ctx context.Context) error {
				if _, err := p.worker.Enqueue(ctx, outbound.Message{EndpointID: e.ID, MessageID: "msg_1"}); err != nil {
					return err
				}
				return end
			})
			if !errors.Is(err, end) {
				t.Fatal(err)
			}
			p.sweep()
			if got, want := len(r.Requests()), map[bool]int{true: 0, false: 1}[end != nil]; got != want {
				t.Errorf("end %v: %d requests", end, got)
			}
		}
		if id, err := p.worker.Enqueue(t.Context(), outbound.Message{EndpointID: e.ID, MessageID: "msg_1"}); id != "" ||
			err != nil {
			t.Errorf("the same message again: %q %v", id, err)
		}
		_, err := p.worker.Enqueue(t.Context(), outbound.Message{EndpointID: "none", MessageID: "msg_1"})
		p.code(err, protocol.CodeNotFound)
	})
}

// The worker sends and is killed before it records the outcome.
func TestAnAbandonedDeliveryIsSentAgainWithTheSameID(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, nil)
		e := p.endpoint(r.URL)
		id := p.enqueue(e, "", "msg_1")[0]
		now := p.clock.Now()
		taken, err := site.Store.Claim(t.Context(), []string{id}, outbound.Claim{
			Lease: "dead", Now: now, Held: now, Until: now.Add(15 * time.Second),
		})
		p.must(err)
		body := []byte(`{"rendered":"by the dead"}`)
		p.must(site.Store.SaveBody(t.Context(), &taken[0], body))
		p.clock.Advance(15*time.Second - time.Microsecond)
		p.sweep()
		if n := len(r.Requests()); n != 0 {
			t.Fatalf("%d requests while the lease was valid", n)
		}
		p.clock.Advance(time.Microsecond)
		p.sweep()
		requests := r.Requests()
		if len(requests) != 1 || requests[0].ID() != "msg_1" || string(requests[0].Body) != string(body) {
			t.Fatalf("%+v", requests)
		}
		verify(t, requests, e.Secret)
		if got := p.state(id) + ", " + p.line(id); got != "delivered, abandoned 204" {
			t.Error(got)
		}
		// The first worker was only slow: it cannot record any more.
		late := taken[0]
		late.State = outbound.Failed
		if err := site.Store.Record(t.Context(), outbound.Conclusion{Delivery: &late}); !errors.Is(err,
			outbound.ErrLeaseLost) {
			t.Error(err)
		}
		if err := site.Store.SaveBody(t.Context(), &late, nil); !errors.Is(err, outbound.ErrLeaseLost) {
			t.Error(err)
		}
		if got := p.state(id); got != "delivered" {
			t.Error(got)
		}
	})
}

// A lease lapses while the receiver is busy: the worker that lost it gives up and records
// nothing.
func TestAWorkerThatLostItsLeaseRecordsNothing(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		arrived, release := make(chan struct{}, 2), make(chan struct{})
		r := outboundtest.Receive(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			arrived <- struct{}{}
			if n == 1 {
				<-release
				w.WriteHeader(http.StatusBadRequest)
			}
		})
		id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
		var slow sync.WaitGroup
		slow.Go(func() { p.must(p.worker.Sweep(context.WithoutCancel(t.Context()))) })
		<-arrived
		p.clock.Advance(16 * time.Second)
		other := p.process(site.OpenAgain(t))
		p.must(other.Sweep(t.Context()))
		close(release)
		slow.Wait()
		if got := p.state(id) + ", " + p.line(id) + ", " +
			p.recordedNotices.take(); got != "delivered, abandoned 200, delivered msg_1" {
			t.Error(got)
		}
	})
}

// Two processes share the queue: every delivery is sent exactly once.
func TestProcessesShareTheQueue(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, nil)
		e := p.endpoint(r.URL)
		for i := range 60 {
			p.enqueue(e, "", fmt.Sprintf("msg_%d", i))
		}
		workers := []*outbound.Worker{p.worker, p.process(site.OpenAgain(t)), p.process(site.OpenAgain(t))}
		var all sync.WaitGroup
		for _, w := range workers {
			all.Go(func() {
				if err := w.Sweep(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		p.sweep() // deliveries that another process had claimed at the first look
		count := map[string]int{}
		for _, q := range r.Requests() {
			count[q.ID()]++
		}
		if len(count) != 60 || len(r.Requests()) != 60 {
			t.Errorf("%d messages in %d requests", len(count), len(r.Requests()))
		}
	})
}

// Many retries at the same moment.
func TestRetryNowFiftyTimesSendsOnce(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, outboundtest.Statuses(500))
		id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
		p.sweep()
		p.clock.Advance(900 * time.Millisecond) // the automatic retry is due in 100 ms
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				if _, err := p.worker.Retry(t.Context(), p.user, id); err != nil {
					t.Error(err)
				}
				if i%10 == 0 {
					p.sweep()
				}
			})
		}
		all.Wait()
		p.clock.Advance(100 * time.Millisecond)
		p.sweep()
		if got := p.line(id); got != "500 500" {
			t.Error(got)
		}
	})
}

func TestRetryNow(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		r := outboundtest.Receive(t, outboundtest.Statuses(500, 500, 500, 500, 500, 400, 200))
		id := p.enqueue(p.endpoint(r.URL), "", "msg_1")[0]
		p.sweep()
		for range 4 {
			p.next(id)
		}
		p.clock.Advance(5 * time.Second) // of 30 s
		_, err := p.worker.Retry(t.Context(), site.User(t), id)
		p.code(err, protocol.CodeNotFound)
		d, err := p.worker.Retry(t.Context(), p.user, id)
		p.must(err)
		if !d.NextAt.Equal(p.clock.Now()) || len(d.Log) != 5 {
			t.Errorf("%+v", d)
		}
		p.sweep()
		if got := p.state(id); got != "failed status 400" {
			t.Error(got)
		}
		p.clock.Advance(30 * time.Hour)
		_, err = p.worker.Retry(t.Context(), p.user, id)
		p.must(err)
		p.sweep()
		if got := p.state(id) + ", " + p.line(id); got != "delivered, 500 500 500 500 500 400 200" {
			t.Error(got)
		}
		_, err = p.worker.Retry(t.Context(), p.user, id)
		p.code(err, protocol.CodeConflict)
		verifyIDs(t, r, "msg_1")
	})
}

func verifyIDs(t *testing.T, r *outboundtest.Receiver, id string) {
	t.Helper()
	for _, q := range r.Requests() {
		if q.ID() != id {
			t.Errorf("webhook-id %q", q.ID())
		}
	}
}

// OUT-9: a host has at most four requests in flight, and a host that hangs does not delay the
// others.
func TestFourInFlightPerHost(t *testing.T) {
	t.Parallel()
	outboundtest.Databases(t, func(t *testing.T, site *outboundtest.Site) {
		p := newKit(t, site)
		var mu sync.Mutex
		inFlight, most := 0, 0
		release, arrived := make(chan struct{}), make(chan struct{}, 700)
		hanging := outboundtest.Receive(t, func(http.ResponseWriter, *http.Request, int) {
			mu.Lock()
			inFlight++
			most = max(most, inFlight)
			mu.Unlock()
			arrived <- struct{}{}
			<-release
			mu.Lock()
			inFlight--
			mu.Unlock()
		})
		healthy := outboundtest.Receive(t, func(http.ResponseWriter, *http.Request, int) { arrived <- struct{}{} })
		dead := p.endpoint(hanging.URL)
		const backlog = 600 // more than one window
		p.must(site.Store.Write(t.Context(), func(ctx context.Context) error {
			for i := range backlog {
				if _, err := p.worker.Enqueue(ctx,
					outbound.Message{EndpointID: dead.ID, MessageID: fmt.Sprintf("dead_%d", i)}); err != nil {
					return err
				}
			}
			return nil
		}))
		p.clock.Advance(time.Second)
		alive := p.endpoint(healthy.URL)
		for i := range 10 {
			p.enqueue(alive, "", fmt.Sprintf("alive_%d", i))
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { p.must(p.worker.Run(ctx)) })
		for range 14 {
			<-arrived
		}
		if n := len(healthy.Requests()); n != 10 {
			t.Errorf("%d of 10 while a host is unreachable", n)
		}
		close(release)
		for range backlog - 4 {
			<-arrived
		}
		stop()
		running.Wait()
		if most != 4 {
			t.Errorf("%d at once", most)
		}
	})
}
