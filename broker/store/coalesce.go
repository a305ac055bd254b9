package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// What one statement takes at most, and how many of them run at a time. While
// the first commits, the next fill up.
const (
	maxGroup       = 64
	maxGroupEvents = 512
	maxFlushing    = 2
	// A request waits so long for its turn, and so long for its statement: then it
	// asks by itself whether the database is there.
	appendPatience = 2 * time.Second
)

// coalescer writes what several requests append at a time in one statement. It
// needs no goroutine of its own: who finds a place free writes for everybody
// that waits, and hands the place on. Alone, a request waits for nobody.
type coalescer struct {
	mu       sync.Mutex
	waiting  []*appendage
	flushing int
}

// appendage is what one request appends.
type appendage struct {
	rev    int64
	cursor protocol.Cursor
	batch  *broker.Batch

	done bool
	err  error
	next chan turn // sent once
}

// turn is what a waiting request is told.
type turn int

const (
	written turn = iota
	write        // it is this request's to write for those that wait
)

// do reports whether a has been written. A request that left may have been, too:
// then it finds its events stored.
func (c *coalescer) do(ctx context.Context, a *appendage, flush func(ctx context.Context, group []*appendage)) (bool, error) {
	a.next = make(chan turn, 1)
	patience := time.NewTimer(appendPatience)
	defer patience.Stop()
	c.mu.Lock()
	c.waiting = append(c.waiting, a)
	c.handOn()
	c.mu.Unlock()
	select {
	case t := <-a.next:
		if t == written {
			return a.done, a.err
		}
	case <-patience.C:
		c.leave(a)
		return false, nil
	case <-ctx.Done():
		c.leave(a)
		return false, ctx.Err()
	}
	c.write(ctx, a, flush)
	return a.done, a.err
}

// write writes a with what waits beside it.
func (c *coalescer) write(ctx context.Context, a *appendage, flush func(ctx context.Context, group []*appendage)) {
	c.mu.Lock()
	group := c.take(a)
	c.mu.Unlock()
	// The others do not fail because this one's peer has gone away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendPatience)
	defer cancel()
	defer func() {
		c.mu.Lock()
		c.flushing--
		c.handOn()
		c.mu.Unlock()
		for _, other := range group {
			if other != a {
				other.next <- written
			}
		}
	}()
	flush(ctx, group)
}

// handOn gives a free place to the one that waits longest.
func (c *coalescer) handOn() {
	if c.flushing < maxFlushing && len(c.waiting) > 0 {
		c.flushing++
		first := c.waiting[0]
		c.waiting = c.waiting[1:]
		first.next <- write
	}
}

// take adds to first what fits beside it, each task once.
func (c *coalescer) take(first *appendage) []*appendage {
	group, events := []*appendage{first}, len(first.batch.Events)
	tasks := map[string]bool{first.batch.Task.ID: true}
	var left []*appendage
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

// leave takes a request that no longer waits out of the queue, or hands on what
// it was given meanwhile.
func (c *coalescer) leave(a *appendage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range c.waiting {
		if w == a {
			c.waiting = append(c.waiting[:i:i], c.waiting[i+1:]...)
			return
		}
	}
	select {
	case t := <-a.next:
		if t == write {
			c.flushing--
			c.handOn()
		}
	default: // it is being written; nobody reads the answer
	}
}

// flush writes a group. Where an id of one is taken nothing was written, and
// halves tell whose it is.
func (s *Store) flush(ctx context.Context, group []*appendage) {
	done, err := s.appendAll(ctx, group)
	if half := len(group) / 2; half > 0 && errors.Is(err, broker.ErrTaken) {
		s.flush(ctx, group[:half])
		s.flush(ctx, group[half:])
		return
	}
	for _, a := range group {
		a.done, a.err = done[a.batch.Task.ID], err
	}
}
