package testenv

import (
	"sync"
	"time"
)

// Clock stands still until it is advanced. Its Now is a Now func() time.Time;
// it is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at a moment in UTC.
func NewClock(start time.Time) *Clock { return &Clock{now: start.UTC()} }

// Now returns the moment the clock stands at.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock, back if d is negative, and returns the new moment.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}
