package outbound

import (
	"context"
	"sync"
	"time"

	"bellhop/internal/wait"
)

const (
	maxGroup = 128
	gather   = time.Millisecond // between two groups, so that the second is not a single delivery
)

// conclusions collects deliveries that end at about the same time, so that they share a
// statement and its commit. The first one is written at once.
type conclusions struct {
	mu      sync.Mutex
	waiting []*groupedConclusion
	writing bool
}

type groupedConclusion struct {
	Conclusion
	err  error
	done chan struct{}
}

// recordInGroup writes a conclusion together with others.
func (w *Worker) recordInGroup(ctx context.Context, c Conclusion) error {
	g := &groupedConclusion{Conclusion: c, done: make(chan struct{})}
	if w.ends.add(g) {
		w.inFlight.spawn(func() { w.writeGroups(ctx) })
	}
	<-g.done
	return g.err
}

// add reports whether the caller must start to write.
func (c *conclusions) add(g *groupedConclusion) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, g)
	first, c.writing = !c.writing, true
	return first
}

// take returns the next group. If none waits, the caller has to stop writing.
func (c *conclusions) take() []*groupedConclusion {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.waiting), maxGroup)
	group := c.waiting[:n:n]
	c.waiting = c.waiting[n:]
	c.writing = n > 0
	return group
}

func (w *Worker) writeGroups(ctx context.Context) {
	for group := w.ends.take(); len(group) > 0; group = w.ends.take() {
		w.writeGroup(ctx, group)
		for _, g := range group {
			close(g.done)
		}
		wait.For(ctx, gather)
	}
}

// writeGroup sets the error of each. If the group cannot be written, and would fail again, each is
// written alone: otherwise the fault of one would make the deliveries of all be sent twice.
func (w *Worker) writeGroup(ctx context.Context, group []*groupedConclusion) {
	all := make([]Conclusion, len(group))
	for i, g := range group {
		all[i] = g.Conclusion
	}
	held, err := w.store.RecordAll(ctx, all)
	if permanent(err) && len(group) > 1 {
		for i := range group {
			w.writeGroup(ctx, group[i:i+1])
		}
		return
	}
	var ended []Conclusion
	for i, g := range group {
		switch {
		case err != nil:
			g.err = err
		case !held[i]:
			g.err = ErrLeaseLost
		default:
			ended = append(ended, g.Conclusion)
		}
	}
	w.advanceSuccessors(ctx, ended)
}
