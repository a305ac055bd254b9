package outbound_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/outboundtest"
)

// doer answers without a network, so that the fake clock of a bubble can advance.
type doer func(r *http.Request, n int) (status int, err error)

// countingClient is an outbound client that records when each request was made.
type countingClient struct {
	mu  sync.Mutex
	at  []time.Duration
	ids []string
	do  doer
	t0  time.Time
}

func (c *countingClient) Do(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.at = append(c.at, time.Since(c.t0).Round(50*time.Millisecond))
	c.ids = append(c.ids, r.Header.Get("webhook-id"))
	n := len(c.at)
	c.mu.Unlock()
	status, err := c.do(r, n)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r,
	}, nil
}

func (c *countingClient) times() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.at...)
}

func (c *countingClient) sent() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.ids...)
}

// running is a worker that runs in a synctest bubble.
type running struct {
	*testing.T
	site   *outboundtest.Site
	worker *outbound.Worker
	sent   *countingClient
	user   string
	stop   func()
}

func run(t *testing.T, do doer, change ...func(*outbound.WorkerOptions)) *running {
	t.Helper()
	r := &running{T: t, site: outboundtest.SQLite(t), sent: &countingClient{do: do, t0: time.Now()}}
	r.user = r.site.User(t)
	r.worker = r.process(change...)
	r.stop = r.start(r.worker)
	return r
}

func (r *running) process(change ...func(*outbound.WorkerOptions)) *outbound.Worker {
	service := outbound.New(outbound.Options{
		Store: r.site.Store, CheckURL: func(string) error { return nil }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	o := outbound.WorkerOptions{
		Client: r.sent, Random: func() float64 { return 0.5 }, Kinds: map[string]outbound.Kind{agentKind: {Render: render}},
	}
	for _, c := range change {
		c(&o)
	}
	return outbound.NewWorker(service, o)
}

func (r *running) start(w *outbound.Worker) (stop func()) {
	ctx, cancel := context.WithCancel(r.Context())
	var done sync.WaitGroup
	done.Go(func() {
		if err := w.Run(ctx); err != nil {
			r.Error(err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		done.Wait()
	})
	r.Cleanup(stop)
	return stop
}

func (r *running) enqueue(by *outbound.Service) string {
	r.Helper()
	e, err := by.Register(r.Context(), r.user, outbound.EndpointRequest{Kind: agentKind, URL: "https://hooks.example.com"})
	if err != nil {
		r.Fatal(err)
	}
	id, err := by.Enqueue(r.Context(), outbound.Message{EndpointID: e.ID, MessageID: "msg_1"})
	if err != nil {
		r.Fatal(err)
	}
	return id
}

func (r *running) delivery(id string) *outbound.Delivery {
	r.Helper()
	d, _, err := r.worker.List(r.Context(), outbound.Filter{OwnerID: r.user})
	if err != nil || len(d) != 1 || d[0].ID != id {
		r.Fatalf("%+v, %v", d, err)
	}
	return &d[0]
}

func always(status int) doer { return func(*http.Request, int) (int, error) { return status, nil } }

func equal(t *testing.T, got []time.Duration, want ...time.Duration) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestTheFastLaneRunsByTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, always(500))
		r.enqueue(r.worker.Service)
		time.Sleep(20 * time.Second)
		equal(t, r.sent.times(), 0, time.Second, 3*time.Second, 7*time.Second, 15*time.Second)
		time.Sleep(10 * time.Minute)
		equal(t, r.sent.times()[5:], 45*time.Second, 165*time.Second)
	})
}

func TestWorkOfThisProcessStartsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, always(200))
		time.Sleep(1500 * time.Millisecond)
		r.enqueue(r.worker.Service)
		synctest.Wait()
		time.Sleep(20 * time.Millisecond)
		equal(t, r.sent.times(), 1500*time.Millisecond)
	})
}

func TestWorkOfAnotherProcessIsFoundByThePoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, always(200))
		time.Sleep(1500 * time.Millisecond)
		r.enqueue(r.process().Service)
		time.Sleep(time.Second + 50*time.Millisecond)
		if got := r.sent.times(); len(got) != 1 || got[0] > 2550*time.Millisecond {
			t.Error(got)
		}
	})
}

func TestALeaseIsRenewedWhileTheReceiverThinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, func(r *http.Request, _ int) (int, error) {
			select {
			case <-time.After(29 * time.Second):
				return 200, nil
			case <-r.Context().Done():
				return 0, context.Cause(r.Context())
			}
		})
		r.start(r.process())
		id := r.enqueue(r.worker.Service)
		time.Sleep(time.Minute)
		equal(t, r.sent.times(), 0)
		if d := r.delivery(id); d.State != outbound.Delivered || len(d.Log) != 1 || d.Log[0].Duration != 29*time.Second {
			t.Errorf("%+v", d)
		}
	})
}

func TestAWorkerThatLosesItsLeaseCutsItsRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cut := make(chan error, 1)
		r := run(t, func(r *http.Request, n int) (int, error) {
			if n > 1 {
				return 200, nil
			}
			<-r.Context().Done()
			cut <- context.Cause(r.Context())
			return 0, r.Context().Err()
		})
		id := r.enqueue(r.worker.Service)
		time.Sleep(time.Second)
		r.site.Exec(t, `UPDATE deliveries SET lease = 'another'`)
		if err := <-cut; err != outbound.ErrLeaseLost { //nolint:errorlint // the very value
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if d := r.delivery(id); d.State != outbound.Delivered || len(d.Log) != 2 ||
			d.Log[0].Error != outbound.FaultAbandoned {
			t.Errorf("%+v", d)
		}
	})
}

func TestShutdownWaitsGraceForRequestsInFlight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes time.Duration
		state outbound.State
		fault string
		lasts time.Duration
	}{
		"within the grace": {2 * time.Second, outbound.Delivered, "", 2 * time.Second},
		"beyond the grace": {time.Minute, outbound.Queued, outbound.FaultInterrupted, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := run(t, func(r *http.Request, _ int) (int, error) {
					select {
					case <-time.After(c.takes):
						return 200, nil
					case <-r.Context().Done():
						return 0, r.Context().Err()
					}
				})
				id := r.enqueue(r.worker.Service)
				time.Sleep(10 * time.Millisecond)
				began := time.Now()
				r.stop()
				if took := time.Since(began).Round(100 * time.Millisecond); took != c.lasts {
					t.Errorf("Run ended after %s", took)
				}
				d := r.delivery(id)
				if d.State != c.state || len(d.Log) != 1 || d.Log[0].Error != c.fault || d.InFlight() ||
					d.NextAt.After(time.Now()) {
					t.Errorf("%+v", d)
				}
			})
		})
	}
}

func TestHeldDeliveriesExpireWhileTheWorkerRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, always(410))
		r.enqueue(r.worker.Service)
		time.Sleep(time.Second)
		list, _, err := r.worker.List(t.Context(), outbound.Filter{OwnerID: r.user})
		if err != nil {
			t.Fatal(err)
		}
		id, err := r.worker.Enqueue(t.Context(), outbound.Message{
			EndpointID: list[0].EndpointID, MessageID: "msg_2", ExpiresAt: time.Now().Add(30 * time.Second),
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(45 * time.Second)
		if d, err := r.site.Store.Delivery(t.Context(), r.user, id); err != nil || d.State != outbound.Expired ||
			len(d.Log) != 0 {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

func TestTheLogIsPruned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, always(200), func(o *outbound.WorkerOptions) { o.Keep, o.Poll = time.Hour, time.Minute })
		r.enqueue(r.worker.Service)
		time.Sleep(55 * time.Minute)
		if list, _, err := r.worker.List(t.Context(), outbound.Filter{OwnerID: r.user}); len(list) != 1 || err != nil {
			t.Errorf("%+v, %v", list, err)
		}
		time.Sleep(20 * time.Minute)
		if list, _, err := r.worker.List(t.Context(), outbound.Filter{OwnerID: r.user}); len(list) != 0 || err != nil {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

func TestANegativeTimeKeepsTheLogForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, always(200), func(o *outbound.WorkerOptions) { o.Keep, o.Poll = -1, time.Minute })
		r.enqueue(r.worker.Service)
		time.Sleep(time.Hour)
		if list, _, err := r.worker.List(t.Context(), outbound.Filter{OwnerID: r.user}); len(list) != 1 || err != nil {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// An outage of the database delays deliveries and loses none.
func TestAClosedDatabaseDoesNotEndTheWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, always(200))
		if err := r.site.DB.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		r.stop()
		equal(t, r.sent.times())
	})
}
