package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

const (
	// Limits of one statement, and how many statements run at the same time. One is
	// the fastest: while it commits, the next one fills up, and a second one would
	// only halve the groups.
	maxGroup       = 64
	maxGroupEvents = 512
	maxFlushing    = 1
	// appendPatience limits the wait for a statement to begin, and again for it to
	// end. A request that gives up uses a transaction of its own.
	appendPatience = 2 * time.Second
)

// groupCommit writes concurrent append requests in one statement. It needs no
// goroutine of its own: a request that finds a free slot becomes the leader, writes
// for all waiting requests and passes the slot on. A single request does not wait.
type groupCommit struct {
	mu       sync.Mutex
	waiting  []*appendRequest
	flushing int
}

// appendRequest is one call of Append.
type appendRequest struct {
	rev    int64
	cursor protocol.Cursor
	batch  *broker.Batch
	rows   []logRow

	done bool
	err  error
	next chan signal // sent once
}

// signal ends the wait of a request.
type signal int

const (
	written signal = iota // a leader has set done and err
	lead                  // this request writes for all waiting ones
)

type flushFunc func(ctx context.Context, group []*appendRequest)

// do reports whether a was written. When it gives up early, a may still have been
// written; the caller then finds its events stored.
func (c *groupCommit) do(ctx context.Context, a *appendRequest, flush flushFunc) (bool, error) {
	a.next = make(chan signal, 1)
	patience := time.NewTimer(appendPatience)
	defer patience.Stop()
	c.mu.Lock()
	c.waiting = append(c.waiting, a)
	c.startLeader()
	c.mu.Unlock()
	select {
	case s := <-a.next:
		if s == lead {
			c.lead(ctx, a, flush)
		}
		return a.done, a.err
	case <-patience.C:
		c.leave(a)
		return false, nil
	case <-ctx.Done():
		c.leave(a)
		return false, ctx.Err()
	}
}

// lead writes a and the waiting requests.
func (c *groupCommit) lead(ctx context.Context, a *appendRequest, flush flushFunc) {
	c.mu.Lock()
	group := c.take(a)
	c.mu.Unlock()
	// The other requests must not fail because the leader's client disconnects.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendPatience)
	defer cancel()
	defer func() {
		c.mu.Lock()
		c.flushing--
		c.startLeader()
		c.mu.Unlock()
		for _, other := range group {
			if other != a {
				other.next <- written
			}
		}
	}()
	flush(ctx, group)
}

// startLeader gives a free slot to the request that has waited longest.
func (c *groupCommit) startLeader() {
	if c.flushing < maxFlushing && len(c.waiting) > 0 {
		c.flushing++
		first := c.waiting[0]
		c.waiting = c.waiting[1:]
		first.next <- lead
	}
}

// take adds to first the waiting requests that fit, one per task.
func (c *groupCommit) take(first *appendRequest) []*appendRequest {
	group, events := []*appendRequest{first}, len(first.batch.Events)
	tasks := map[string]bool{first.batch.Task.ID: true}
	var left []*appendRequest
	for _, a := range c.waiting {
		n := len(a.batch.Events)
		if len(group) == maxGroup || events+n > maxGroupEvents || tasks[a.batch.Task.ID] {
			left = append(left, a)
			continue
		}
		tasks[a.batch.Task.ID] = true
		group, events = append(group, a), events+n
	}
	c.waiting = left
	return group
}

// leave removes a request that gives up. If it became the leader in the meantime,
// the next request gets the slot.
func (c *groupCommit) leave(a *appendRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.waiting, a); i >= 0 {
		c.waiting = append(c.waiting[:i:i], c.waiting[i+1:]...)
		return
	}
	select {
	case s := <-a.next:
		if s == lead {
			c.flushing--
			c.startLeader()
		}
	default: // a leader is writing it; this request does not read the result
	}
}

// flush writes a group. If an event is already stored, the statement wrote nothing;
// halving the group finds the request that the event belongs to.
func (s *Store) flush(ctx context.Context, group []*appendRequest) {
	done, err := s.appendGroup(ctx, group)
	if half := len(group) / 2; half > 0 && errors.Is(err, broker.ErrTaken) {
		s.flush(ctx, group[:half])
		s.flush(ctx, group[half:])
		return
	}
	for _, a := range group {
		a.done, a.err = done[a.batch.Task.No], err
	}
}
