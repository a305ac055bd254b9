package outbound

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"bellhop/internal/netguard"
	"bellhop/internal/observe"
	"bellhop/internal/wait"
	"bellhop/protocol"
)

// Doer sends a request. Outside tests it must be netguard.Guard.Client, which has the limits of
// OUT-7 and the address guard of OUT-8.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// Timeouts are the limits of OUT-7: an agent may think for 30 s before it answers.
func Timeouts() netguard.Timeouts {
	return netguard.Timeouts{Header: 30 * time.Second, Total: time.Minute}
}

// WorkerOptions of NewWorker. Zero fields get the value in their comment.
type WorkerOptions struct {
	Client      Doer            // required
	Kinds       map[string]Kind // required; deliveries of other kinds wait
	MaxInFlight int             // 128
	PerHost     int             // 4
	Lease       time.Duration   // 15 s; renewed after a third of it
	Poll        time.Duration   // 1 s: the interval at which deliveries of other processes are noticed
	Grace       time.Duration   // 3 s: how long requests in flight may take to finish when Run ends
	Keep        time.Duration   // 30 days: how long final deliveries stay in the log; negative = for ever
	Random      func() float64  // in [0,1), for the jitter

	Observer observe.Observer // of attempts; nil = none
}

// Worker sends deliveries. Any number of processes may run one on the same database.
type Worker struct {
	*Service
	o        WorkerOptions
	inFlight inFlight
	ends     conclusions

	claiming  sync.Mutex // serialises claims; guards the fields below
	after     string     // the last host that addByHost looked at
	hostsBusy bool       // the first due deliveries all have busy hosts, so the next claim skips them

	walked time.Time     // when addByHost ended last
	walk   time.Duration // how long it took
}

// NewWorker starts no goroutine; Run does.
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
	return &Worker{Service: s, o: o}
}

const (
	pace       = 5 * time.Millisecond // between two claims, so that deliveries are claimed in batches
	walkRest   = 4                    // walks through many hosts take at most a fifth of the time
	pruneEvery = 10 * time.Minute
	heldEvery  = 10 * time.Second
	farRetry   = Lifetime // no attempt is later than the expiry
)

// Run sends until ctx ends. Then it claims nothing more, lets requests in flight finish within
// Grace, and requeues the others.
func (w *Worker) Run(ctx context.Context) error {
	var background sync.WaitGroup
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	background.Go(func() { w.renewLoop(alive) })
	background.Go(func() { w.maintain(ctx) })
	for ctx.Err() == nil {
		began := time.Now()
		progress, err := w.claim(ctx, walkRest)
		if err != nil && ctx.Err() == nil {
			w.log.WarnContext(ctx, "deliveries not claimed", "error", err)
		}
		if !progress || err != nil {
			w.wait(ctx)
		}
		wait.For(ctx, pace-time.Since(began))
	}
	w.inFlight.end(w.o.Grace)
	stop()
	background.Wait()
	return nil
}

// Sweep sends everything that is due now, batch by batch, and returns when nothing more can be
// sent.
func (w *Worker) Sweep(ctx context.Context) error {
	for {
		before := w.inFlight.started()
		progress, err := w.claim(ctx, 0)
		if err != nil {
			return err
		}
		idle := w.inFlight.wait() && w.inFlight.started() == before // what has ended may let another start
		if !progress && idle {
			return nil
		}
	}
}

// wait returns when a delivery may be due, after Poll at the latest.
func (w *Worker) wait(ctx context.Context) {
	d := w.o.Poll
	now := w.nowUTC()
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

func (w *Worker) renewLoop(ctx context.Context) {
	for wait.For(ctx, w.o.Lease/3) {
		w.renew(ctx)
	}
}

// renew prolongs the leases of requests in flight and cancels those that another worker has
// taken over.
func (w *Worker) renew(ctx context.Context) {
	claims := w.inFlight.claims()
	if len(claims) == 0 {
		return
	}
	held, err := w.store.Renew(ctx, claims, w.nowUTC().Add(w.o.Lease))
	if err != nil {
		w.log.WarnContext(ctx, "leases not renewed", "error", err)
		return
	}
	for _, id := range held {
		delete(claims, id)
	}
	for id, lease := range claims {
		w.inFlight.cancel(id, lease, ErrLeaseLost)
	}
}

// maintain expires held deliveries, makes due what a clock that was ahead has put off, and prunes the log.
func (w *Worker) maintain(ctx context.Context) {
	pruned := time.Time{}
	for {
		now, held := w.nowUTC(), w.heldUTC()
		n, err := w.store.ExpireHeld(ctx, held)
		w.report(ctx, "expire held deliveries", err)
		hastened, err := w.store.HastenFar(ctx, now.Add(farRetry), now)
		w.report(ctx, "hasten deliveries", err)
		if hastened > 0 {
			w.log.WarnContext(ctx, "deliveries that a clock ahead of this one had put off are due now", "rows", hastened)
		}
		if n+hastened > 0 {
			w.Wake()
		}
		if w.o.Keep > 0 && now.Sub(pruned) >= pruneEvery {
			pruned = now
			w.prune(ctx, held.Add(-w.o.Keep))
		}
		if !wait.For(ctx, heldEvery) {
			return
		}
	}
}

func (w *Worker) prune(ctx context.Context, before time.Time) {
	_, operation := observe.Begin(ctx, w.o.Observer, observe.Start{Operation: observe.Retention, Name: "deliveries"})
	rows, err := w.store.Prune(ctx, before)
	if ctx.Err() != nil { // the next process continues
		return
	}
	operation.End(observe.Outcome{Err: err, Accepted: int(rows)})
	if rows > 0 {
		w.log.InfoContext(ctx, "old deliveries removed", "rows", rows)
	}
	w.report(ctx, "prune", err)
}

func (w *Worker) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		w.log.WarnContext(ctx, "deliveries not maintained", "what", what, "error", err)
	}
}

// errInterrupted cancels attempts that did not finish within Grace.
var errInterrupted = errors.New("the worker stops")

func unavailable(err error) bool { return protocol.CodeOf(err) == protocol.CodeUnavailable }
