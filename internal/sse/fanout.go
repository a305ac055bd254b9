package sse

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// Limits of a subscription's queue. A subscription beyond them is dropped
// (reliability SSE-2).
const (
	MaxQueuedFrames = 256
	MaxQueuedBytes  = 1 << 20
)

// Why a subscription ended, besides io.EOF when its Fanout was closed.
var (
	ErrSlow   = errors.New("sse: subscriber too slow")
	ErrClosed = errors.New("sse: subscription closed")
)

// Fanout passes every published frame to every subscription. Publishers never wait for
// subscribers.
type Fanout struct {
	mu     sync.Mutex
	subs   map[*Subscription]struct{} // nil until the first: most sessions have no readers
	closed bool
}

// NewFanout returns a Fanout without subscriptions.
func NewFanout() *Fanout { return &Fanout{} }

// Subscribe returns a subscription to all frames published from now on. If the Fanout is
// closed, the subscription has ended already.
func (f *Fanout) Subscribe() *Subscription {
	s := &Subscription{fanout: f, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		s.end(io.EOF)
		return s
	}
	if f.subs == nil {
		f.subs = map[*Subscription]struct{}{}
	}
	f.subs[s] = struct{}{}
	return s
}

// Publish queues an encoded frame for every subscription and drops those whose queue is full.
// The bytes are shared and must not be changed afterwards.
func (f *Fanout) Publish(encoded []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		if !s.push(encoded) {
			delete(f.subs, s)
		}
	}
}

// Subscribers returns the number of open subscriptions.
func (f *Fanout) Subscribers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs)
}

// Close ends every subscription with io.EOF once its queue is drained, and those that join
// later at once.
func (f *Fanout) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.cutLocked()
}

// Cut ends every subscription as Close does. New ones may join.
func (f *Fanout) Cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cutLocked()
}

func (f *Fanout) cutLocked() {
	for s := range f.subs {
		s.end(io.EOF)
	}
	clear(f.subs)
}

func (f *Fanout) drop(s *Subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subs, s)
}

// Subscription is one subscriber's queue, read by one goroutine. Its owner must Close it.
type Subscription struct {
	fanout *Fanout
	wake   chan struct{} // holds a value when queue or err changed

	mu       sync.Mutex
	queue    [][]byte
	queued   int // bytes
	err      error
	sleeping *conn // its goroutine waits in conn.sleep; nil: it uses wake, or is at work
}

// Err returns why the subscription ended, nil while it is open. With io.EOF frames may still be
// queued.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the subscription and drops its queue. It may be called again.
func (s *Subscription) Close() {
	s.fanout.drop(s)
	s.end(ErrClosed)
}

// Next waits for the next frame. After the last one it returns Err or ctx's error.
func (s *Subscription) Next(ctx context.Context) ([]byte, error) {
	var one [1][]byte
	batch, err := s.NextBatch(ctx, one[:0:1])
	if err != nil {
		return nil, err
	}
	return batch[0], nil
}

// NextBatch waits for at least one frame and returns the queued frames in buf's array; if buf
// has a capacity, at most that many.
func (s *Subscription) NextBatch(ctx context.Context, buf [][]byte) ([][]byte, error) {
	for {
		batch, err := s.take(buf[:0])
		if err != nil || len(batch) > 0 {
			return batch, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.wake:
		}
	}
}

// take moves queued frames into buf without waiting.
func (s *Subscription) take(buf [][]byte) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return buf, s.err
	}
	n := len(s.queue)
	if c := cap(buf); c > 0 {
		n = min(n, c)
	}
	for _, frame := range s.queue[:n] {
		s.queued -= len(frame)
	}
	buf = append(buf, s.queue[:n]...)
	rest := copy(s.queue, s.queue[n:])
	clear(s.queue[rest:])
	s.queue = s.queue[:rest]
	if rest == 0 {
		s.queue = spare(s.queue)
	}
	return buf, nil
}

// swap returns the whole queue without waiting and continues with the array of spare.
func (s *Subscription) swap(spare [][]byte) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sleeping = nil
	if len(s.queue) == 0 {
		return nil, s.err
	}
	batch := s.queue
	s.queue, s.queued = spare[:0], 0
	return batch, nil
}

// arm lets the next change of queue or err wake c, which sleeps until the given time at the
// latest. It returns false if there is something to do first. The lock orders the two deadlines:
// the one that wakes is never replaced by the one to sleep until.
func (s *Subscription) arm(c *conn, until time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 || s.err != nil {
		return false
	}
	s.sleeping = c
	_ = c.SetReadDeadline(until) // fails only if the connection is closed, which ends sleep
	return true
}

// spare empties a queue for reuse. A large array is dropped, as thousands of idle readers would
// each keep the array of their largest burst.
func spare(queue [][]byte) [][]byte {
	const keep = 16
	if cap(queue) > keep {
		return nil
	}
	clear(queue)
	return queue[:0]
}

// push reports whether the subscription is still open.
func (s *Subscription) push(frame []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	if len(s.queue) == MaxQueuedFrames || len(s.queue) > 0 && s.queued+len(frame) > MaxQueuedBytes {
		s.endLocked(ErrSlow)
		return false
	}
	s.queue = append(s.queue, frame)
	s.queued += len(frame)
	s.signal()
	return true
}

func (s *Subscription) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(err)
}

// endLocked keeps the first reason. Every reason but io.EOF also drops the queue.
func (s *Subscription) endLocked(err error) {
	if s.err == nil {
		s.err = err
	}
	if !errors.Is(err, io.EOF) {
		s.queue, s.queued = nil, 0
	}
	s.signal()
}

func (s *Subscription) signal() {
	if s.sleeping != nil {
		s.sleeping.wake()
		s.sleeping = nil
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
