package feed

import (
	"context"
	"sync"
)

// Limits of the frames in flight on one connection. The publisher of r3labs blocks
// once a subscriber has more than 64 frames, so with this limit it never blocks.
const (
	maxFrames = 64
	maxBytes  = 1 << 20
)

// window limits the frames that are published on a connection and not yet written.
type window struct {
	mu    sync.Mutex
	sizes []int // of the frames in flight, oldest first
	bytes int
	freed chan struct{}
}

func newWindow() *window { return &window{freed: make(chan struct{}, 1)} }

// acquire waits for room. A frame above the byte limit needs the window for itself.
func (w *window) acquire(ctx context.Context, size int) error {
	for !w.take(size) {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// drained waits until everything was written.
func (w *window) drained(ctx context.Context) error {
	for w.inFlight() > 0 {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *window) take(size int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.sizes)
	if n > 0 && (n >= maxFrames || w.bytes+size > maxBytes) {
		return false
	}
	w.sizes = append(w.sizes, size)
	w.bytes += size
	return true
}

func (w *window) wait(ctx context.Context) error {
	select {
	case <-w.freed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release removes the oldest frame in flight, which was written or dropped.
func (w *window) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.sizes) == 0 {
		return
	}
	w.bytes -= w.sizes[0]
	w.sizes = append(w.sizes[:0], w.sizes[1:]...)
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

func (w *window) inFlight() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sizes)
}
