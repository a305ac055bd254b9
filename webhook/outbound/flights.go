package outbound

import (
	"context"
	"sync"
	"time"
)

// flights are the deliveries this worker holds.
type flights struct {
	mu     sync.Mutex
	byID   map[string]*flight
	byHost map[string]int
	wg     sync.WaitGroup
}

type flight struct {
	lease  string
	host   string
	cancel context.CancelCauseFunc
}

// start runs do with a context that ends when the flight is cancelled.
func (f *flights) start(ctx context.Context, d *Delivery, do func(ctx context.Context)) {
	ctx, cancel := context.WithCancelCause(ctx)
	f.mu.Lock()
	if f.byID == nil {
		f.byID, f.byHost = map[string]*flight{}, map[string]int{}
	}
	mine := &flight{lease: d.Lease, host: d.Host, cancel: cancel}
	if old := f.byID[d.ID]; old != nil { // its lease lapsed
		old.cancel(ErrLeaseLost)
	}
	f.byID[d.ID] = mine
	f.byHost[d.Host]++
	f.mu.Unlock()
	f.wg.Go(func() {
		defer cancel(nil)
		defer f.leave(d.ID, mine)
		do(ctx)
	})
}

func (f *flights) leave(id string, mine *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID[id] == mine { // a lost one may be back already
		delete(f.byID, id)
	}
	if f.byHost[mine.host]--; f.byHost[mine.host] == 0 {
		delete(f.byHost, mine.host)
	}
}

func (f *flights) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.byID)
}

// hosts is a copy of the requests in flight by host.
func (f *flights) hosts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	busy := make(map[string]int, len(f.byHost))
	for host, n := range f.byHost {
		busy[host] = n
	}
	return busy
}

func (f *flights) claims() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	claims := make(map[string]string, len(f.byID))
	for id, one := range f.byID {
		claims[id] = one.lease
	}
	return claims
}

func (f *flights) cancel(id, lease string, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.byID[id]; one != nil && one.lease == lease {
		one.cancel(cause)
	}
}

// wait returns when all have landed, and whether there were none.
func (f *flights) wait() (idle bool) {
	idle = f.count() == 0
	f.wg.Wait()
	return idle
}

// end waits for grace, then cancels what is left and waits for that.
func (f *flights) end(grace time.Duration) {
	timer := time.AfterFunc(grace, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, one := range f.byID {
			one.cancel(errInterrupted)
		}
	})
	f.wg.Wait()
	timer.Stop()
}
