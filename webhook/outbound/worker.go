package outbound

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"bellhop/protocol"
)

// Doer sends a request. netguard.Guard.Client has the limits of OUT-7 and the
// guard of OUT-8; nothing less will do outside tests.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// WorkerOptions of NewWorker; zero members have the values named.
type WorkerOptions struct {
	Client      Doer            // required
	Kinds       map[string]Kind // required; deliveries of other kinds wait
	MaxInFlight int             // 128
	PerHost     int             // 4
	Lease       time.Duration   // 15 s, renewed every third of it
	Poll        time.Duration   // 1 s: how long work of other processes may lie
	Grace       time.Duration   // 3 s: what is in flight may end when Run has to
	Keep        time.Duration   // 30 days: how long final deliveries stay in the log
	Random      func() float64  // in [0,1), for the jitter
}

// Worker sends. Any number of processes may run one on the same database.
type Worker struct {
	*Service
	o       WorkerOptions
	flights flights
	depth   int // how far a claim looks past busy hosts

	claiming sync.Mutex // one claim at a time; it guards what follows
	after    string     // where the search by host goes on
	crowded  bool       // what is due first has to wait for its hosts: look past it at once
}

// NewWorker does not start anything.
func NewWorker(s *Service, o WorkerOptions) *Worker {
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 128)
	o.PerHost = cmp.Or(o.PerHost, 4)
	o.Lease = cmp.Or(o.Lease, 15*time.Second)
	o.Poll = cmp.Or(o.Poll, time.Second)
	o.Grace = cmp.Or(o.Grace, 3*time.Second)
	o.Keep = cmp.Or(o.Keep, 30*24*time.Hour)
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return &Worker{Service: s, o: o, depth: depth}
}

const (
	pace       = 5 * time.Millisecond // between two claims, so that they come in batches
	pruneEvery = 10 * time.Minute
	pruneBatch = 1000
	heldEvery  = 10 * time.Second
)

// Run sends until ctx ends. Then it claims nothing more, gives what is in flight
// Grace to end and puts back what did not.
func (w *Worker) Run(ctx context.Context) error {
	var background sync.WaitGroup
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	background.Go(func() { w.renewals(alive) })
	background.Go(func() { w.maintain(ctx) })
	for ctx.Err() == nil {
		began := time.Now()
		progress, err := w.claim(ctx)
		if err != nil && ctx.Err() == nil {
			w.log.WarnContext(ctx, "deliveries not claimed", "error", err)
		}
		if !progress || err != nil {
			w.wait(ctx)
		}
		sleep(ctx, pace-time.Since(began))
	}
	w.flights.end(w.o.Grace)
	stop()
	background.Wait()
	return nil
}

// Sweep sends what is due now, one batch after the other, and returns when
// nothing is left that could be sent.
func (w *Worker) Sweep(ctx context.Context) error {
	for {
		progress, err := w.claim(ctx)
		if err != nil {
			return err
		}
		idle := w.flights.wait()
		if !progress && idle {
			return nil
		}
	}
}

// wait returns when there may be something to do.
func (w *Worker) wait(ctx context.Context) {
	d := w.o.Poll
	now := w.at()
	if at, found, err := w.store.NextDue(ctx, now); err == nil && found {
		d = min(d, at.Sub(now))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-w.wake:
	case <-timer.C:
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (w *Worker) renewals(ctx context.Context) {
	for sleep(ctx, w.o.Lease/3) {
		w.renew(ctx)
	}
}

// renew prolongs what is in flight and gives up what another worker has taken.
func (w *Worker) renew(ctx context.Context) {
	claims := w.flights.claims()
	if len(claims) == 0 {
		return
	}
	held, err := w.store.Renew(ctx, claims, w.at().Add(w.o.Lease))
	if err != nil {
		w.log.WarnContext(ctx, "leases not renewed", "error", err)
		return
	}
	for _, id := range held {
		delete(claims, id)
	}
	for id, lease := range claims {
		w.flights.cancel(id, lease, ErrLeaseLost)
	}
}

// maintain ends held deliveries in time and prunes the log.
func (w *Worker) maintain(ctx context.Context) {
	pruned := time.Time{}
	for {
		now := w.at()
		n, err := w.store.ExpireHeld(ctx, now)
		w.report(ctx, "expire held deliveries", err)
		if n > 0 {
			w.Wake()
		}
		if now.Sub(pruned) >= pruneEvery {
			pruned = now
			w.report(ctx, "prune", w.prune(ctx, now))
		}
		if !sleep(ctx, heldEvery) {
			return
		}
	}
}

func (w *Worker) prune(ctx context.Context, now time.Time) error {
	for {
		n, err := w.store.Prune(ctx, now.Add(-w.o.Keep), pruneBatch)
		if err != nil || n < pruneBatch {
			return err
		}
	}
}

func (w *Worker) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		w.log.WarnContext(ctx, "deliveries not maintained", "what", what, "error", err)
	}
}

// errInterrupted ends attempts that Grace was too short for.
var errInterrupted = errors.New("the worker stops")

func unavailable(err error) bool { return protocol.CodeOf(err) == protocol.CodeUnavailable }
