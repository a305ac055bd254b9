package outbound

import (
	"context"
	"sync"
	"time"
)

// inFlight holds the deliveries that this worker is sending. The zero value is ready for use.
type inFlight struct {
	mu     sync.Mutex
	byID   map[string]*inFlightEntry
	byHost map[string]int // requests by the host of the endpoint's URL
	starts int
	wg     sync.WaitGroup
}

type inFlightEntry struct {
	lease  string
	host   string
	cancel context.CancelCauseFunc
}

// start runs do in a goroutine. Its context ends when the entry is cancelled.
func (f *inFlight) start(ctx context.Context, d *Delivery, do func(ctx context.Context)) {
	ctx, cancel := context.WithCancelCause(ctx)
	f.mu.Lock()
	if f.byID == nil {
		f.byID, f.byHost = map[string]*inFlightEntry{}, map[string]int{}
	}
	entry := &inFlightEntry{lease: d.Lease, host: d.Host, cancel: cancel}
	if old := f.byID[d.ID]; old != nil { // the older lease lapsed
		old.cancel(ErrLeaseLost)
	}
	f.byID[d.ID] = entry
	f.byHost[d.Host]++
	f.starts++
	f.mu.Unlock()
	f.wg.Go(func() {
		defer cancel(nil)
		defer f.remove(d.ID, entry)
		do(ctx)
	})
}

// spawn runs do in another goroutine; wait and end return after it. Only a running entry may call
// spawn.
func (f *inFlight) spawn(do func()) { f.wg.Go(do) }

func (f *inFlight) remove(id string, entry *inFlightEntry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID[id] == entry { // a delivery whose lease was lost may have been started again
		delete(f.byID, id)
	}
	if f.byHost[entry.host]--; f.byHost[entry.host] == 0 {
		delete(f.byHost, entry.host)
	}
}

func (f *inFlight) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.byID)
}

// started returns the number of calls of start so far.
func (f *inFlight) started() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.starts
}

// hosts returns the number of requests in flight by host.
func (f *inFlight) hosts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	busy := make(map[string]int, len(f.byHost))
	for host, n := range f.byHost {
		busy[host] = n
	}
	return busy
}

// claims returns the lease of each delivery by the delivery's id.
func (f *inFlight) claims() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	claims := make(map[string]string, len(f.byID))
	for id, one := range f.byID {
		claims[id] = one.lease
	}
	return claims
}

func (f *inFlight) cancel(id, lease string, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.byID[id]; one != nil && one.lease == lease {
		one.cancel(cause)
	}
}

// wait returns when all are finished; idle reports that there were none.
func (f *inFlight) wait() (idle bool) {
	idle = f.count() == 0
	f.wg.Wait()
	return idle
}

// end waits up to grace, cancels the remaining ones and waits for them.
func (f *inFlight) end(grace time.Duration) {
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
