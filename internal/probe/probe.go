// Package probe caches the result of a check that is costly and requested often,
// such as a write to the disk. The caller provides the check.
package probe

import (
	"context"
	"sync"
	"time"
)

// Interval is how long a result is good for: health routes cost at most one
// write a second, however often they are called.
const Interval = time.Second

// Probe is safe for concurrent use. Callers that come while a check is under way
// wait for its result.
type Probe struct {
	Check func(context.Context) error
	Now   func() time.Time // nil = time.Now

	mu      sync.Mutex
	checked time.Time
	err     error
}

// Ready returns the result of a check that is at most Interval old. A caller
// whose context ends during the check leaves no result behind.
func (p *Probe) Ready(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now
	if p.Now != nil {
		now = p.Now
	}
	if age := now().Sub(p.checked); !p.checked.IsZero() && age >= 0 && age < Interval {
		return p.err
	}
	err := p.Check(ctx)
	if ctx.Err() != nil {
		return err
	}
	p.checked, p.err = now(), err
	return err
}
