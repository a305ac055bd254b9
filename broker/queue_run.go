package broker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"bellhop/protocol"
)

const (
	queueEvery    = time.Second
	queueBatch    = 500
	queueLease    = 30 * time.Second
	queueHosts    = 64 // at once
	maxQueuePause = time.Minute
	queueBusy     = 2 * time.Second  // before the next attempt at a host that works on another turn
	queueAttached = 10 * time.Second // before the next attempt at a session with an open terminal client
)

// queuePause is the time between a failed attempt and the next one: 2 s, 4 s … 1 min.
func queuePause(attempts int) time.Duration {
	return min(time.Second<<min(attempts, 16), maxQueuePause)
}

// queueRunner holds the state of a Queue's background work.
type queueRunner struct {
	once    sync.Once
	signal  chan struct{}
	working sync.WaitGroup // one goroutine per host, and one per stream that is read
	slots   chan struct{}

	mu     sync.Mutex
	active map[string]bool // hosts with a goroutine
}

func (r *queueRunner) prepare() {
	r.once.Do(func() {
		r.signal, r.slots = make(chan struct{}, 1), make(chan struct{}, queueHosts)
		r.active = map[string]bool{}
	})
}

func (r *queueRunner) wake() {
	r.prepare()
	select {
	case r.signal <- struct{}{}:
	default: // a signal is already pending
	}
}

// busyHosts returns the hosts with a goroutine.
func (r *queueRunner) busyHosts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.active))
}

// Wake makes Run begin its next round at once. It never blocks.
func (q *Queue) Wake() { q.runner.wake() }

// Run starts the turns of queued messages until ctx ends. Hosts are served in parallel, the
// tasks of one host one after another.
func (q *Queue) Run(ctx context.Context) error {
	q.runner.prepare()
	defer q.runner.working.Wait()
	tick := time.NewTicker(queueEvery)
	defer tick.Stop()
	for {
		q.serveDueHosts(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-q.runner.signal:
		}
	}
}

// Round starts the due turns once. It returns when they have started and the streams of basic
// hosts have ended.
func (q *Queue) Round(ctx context.Context) {
	q.runner.prepare()
	q.serveDueHosts(ctx)
	q.runner.working.Wait()
}

// serveDueHosts starts a goroutine for each host with due tasks that has none. A host with a goroutine is
// skipped: if it does not answer, its tasks could otherwise fill the batch, and no other host be served.
func (q *Queue) serveDueHosts(ctx context.Context) {
	q.report(ctx, "resume", "", q.resumeActive(ctx))
	due, err := q.Store.DueQueues(ctx, nowUTC(q.Now), q.runner.busyHosts(), queueBatch)
	if err != nil {
		q.report(ctx, "find", "", err)
		return
	}
	byHost := map[string][]string{}
	for _, d := range due {
		byHost[d.Host] = append(byHost[d.Host], d.ID)
	}
	r := &q.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	for host, tasks := range byHost {
		if r.active[host] {
			continue
		}
		r.active[host] = true
		r.working.Go(func() { q.serveHost(ctx, host, tasks) })
	}
}

// serveHost sends the next message of each task. It stops at a host that does not answer: the
// other tasks stay due.
func (q *Queue) serveHost(ctx context.Context, host string, tasks []string) {
	r := &q.runner
	r.slots <- struct{}{}
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.active, host)
		<-r.slots
	}()
	for _, id := range tasks {
		if ctx.Err() != nil {
			return
		}
		err := q.sendNext(ctx, id)
		if err == nil {
			continue
		}
		q.report(ctx, "send", id, err)
		if protocol.CodeOf(err) == protocol.CodeBadGateway {
			return
		}
	}
}

func (q *Queue) report(ctx context.Context, step, task string, err error) {
	if err != nil && ctx.Err() == nil {
		q.Log.WarnContext(ctx, "a queued message was not sent", "step", step, "task", task, "error", err)
	}
}
