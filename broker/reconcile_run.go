package broker

import (
	"context"
	"sync"
	"time"

	"bellhop/protocol"
)

const (
	dueEvery    = 5 * time.Second
	wakeSpacing = 2 * time.Second
	hostsAtOnce = 64
)

// DueTask is a task that needs attention, with its host.
type DueTask struct{ ID, Host string }

// Wake requests a reconciliation of a task soon. It never blocks.
func (r *Reconciler) Wake(taskID string) {
	r.mu.Lock()
	r.prepare()
	r.woken[taskID] = true
	r.mu.Unlock()
	select {
	case r.signal <- struct{}{}:
	default: // a signal is already pending
	}
}

// prepare creates the maps. The caller holds the mutex.
func (r *Reconciler) prepare() {
	if r.signal == nil {
		r.signal = make(chan struct{}, 1)
		r.woken = map[string]bool{}
		r.queues = map[string][]string{}
		r.tried = map[string]time.Time{}
	}
}

// Run reconciles every task with an open turn once, then the tasks that are silent
// or woken, until ctx ends. Tasks of one host run one after another and hosts run
// in parallel, so that an unreachable host delays no other.
func (r *Reconciler) Run(ctx context.Context) error {
	r.mu.Lock()
	r.prepare()
	r.mu.Unlock()
	workers := &workers{slots: make(chan struct{}, hostsAtOnce)}
	defer workers.Wait()
	ticker := time.NewTicker(dueEvery)
	defer ticker.Stop()
	r.enqueueDue(ctx, workers, 0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			r.enqueueDue(ctx, workers, silence)
		case <-r.signal:
		}
		r.enqueueWoken(ctx, workers)
	}
}

// workers are the goroutines of a Run, one per host with due tasks.
type workers struct {
	sync.WaitGroup
	slots chan struct{}
}

func (r *Reconciler) enqueueDue(ctx context.Context, workers *workers, silent time.Duration) {
	now := r.Now()
	when := Overdue{Silent: now.Add(-silent), Announced: now.Add(-unstarted), Future: now.Add(clockSkew)}
	err := eachDue(ctx, r.Store, true, when, func(d DueTask) { r.enqueue(ctx, workers, d, silence) })
	if err != nil {
		if ctx.Err() == nil {
			r.Log.WarnContext(ctx, "cannot find silent turns", "error", err)
		}
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, last := range r.tried {
		if !within(now, last, silence) {
			delete(r.tried, id)
		}
	}
}

func (r *Reconciler) enqueueWoken(ctx context.Context, workers *workers) {
	r.mu.Lock()
	ids := make([]string, 0, len(r.woken))
	for id := range r.woken {
		if !within(r.Now(), r.tried[id], wakeSpacing) { // else at the next tick
			ids = append(ids, id)
			delete(r.woken, id)
		}
	}
	r.mu.Unlock()
	for _, id := range ids {
		task, err := r.Store.AnyTask(ctx, id)
		if err != nil {
			continue // purged, or the database is unavailable: enqueueDue finds the task again
		}
		r.enqueue(ctx, workers, DueTask{ID: id, Host: task.HostID + task.AgentURL}, 0)
	}
}

// enqueue adds a task to its host's queue, and starts a goroutine for a host that
// has none. It ignores a task that was tried less than spacing ago.
func (r *Reconciler) enqueue(ctx context.Context, workers *workers, d DueTask, spacing time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, tried := r.tried[d.ID]; tried && within(r.Now(), last, spacing) {
		return
	}
	r.tried[d.ID] = r.Now()
	queue, working := r.queues[d.Host]
	r.queues[d.Host] = append(queue, d.ID)
	if !working {
		workers.Go(func() { r.work(ctx, workers, d.Host) })
	}
}

// within reports whether last was less than d ago. It is false for a time after now, which
// means that the clock went back since.
func within(now, last time.Time, d time.Duration) bool {
	age := now.Sub(last)
	return age >= 0 && age < d
}

func (r *Reconciler) work(ctx context.Context, workers *workers, host string) {
	workers.slots <- struct{}{}
	defer func() { <-workers.slots }()
	for {
		id, ok := r.next(host)
		if !ok {
			return
		}
		err := r.Task(ctx, id)
		if err == nil || ctx.Err() != nil {
			continue
		}
		r.Log.WarnContext(ctx, "task not reconciled", "task", id, "error", err)
		if protocol.CodeOf(err) == protocol.CodeBadGateway {
			r.dropQueue(host) // the host's other tasks become due again soon
		}
	}
}

func (r *Reconciler) next(host string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue := r.queues[host]
	if len(queue) == 0 {
		delete(r.queues, host)
		return "", false
	}
	r.queues[host] = queue[1:]
	return queue[0], true
}

func (r *Reconciler) dropQueue(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queues[host] = nil
}
