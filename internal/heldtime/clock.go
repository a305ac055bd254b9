// Package heldtime owns the time by which rows are deleted and deliveries are given up, for ever. A clock that a step, a
// flat battery or a wrong machine put into the future must not do that: the time is held back until something else
// confirms it. What expires and can be had again (credentials, tokens, links) expires by the wall clock.
//
//	the wall clock ── at most ──► newest known time + running since + an hour
//	                                    ▲
//	                                    ├── stored with the data, so that a restart knows it
//	                                    ├── a second clock: the database server's, a host's answer
//	                                    └── the wall clock, after 24 hours of running ahead of the limit
package heldtime

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bellhop/internal/wait"
)

const (
	slack      = time.Hour
	confirmed  = 24 * time.Hour // of running, after which the wall clock counts
	storeEvery = time.Minute
)

// State is what a restart knows of the clock.
type State struct {
	At    time.Time     // no earlier than the newest time that was known; zero if nothing is stored yet
	Ahead time.Duration // by how much the wall clock was ahead of the limit
	Ran   time.Duration // for how long the processes ran with such a clock
}

// Store keeps the state beside the data.
type Store interface {
	// HeldTime returns the state that was stored, or the newest time of the data.
	HeldTime(ctx context.Context) (State, error)
	// StoreHeldTime stores a state. A stored time never becomes earlier.
	StoreHeldTime(ctx context.Context, s State) error
	// ServerTime returns the time of the database's server, zero if that has this machine's clock.
	ServerTime(ctx context.Context) (time.Time, error)
}

// Clock is the held-back time of a process.
type Clock struct {
	Wall    func() time.Time
	Running func() time.Duration // for how long the process runs, which no step changes; nil = by Wall, as time.Now does
	Store   Store
	Log     *slog.Logger

	mu      sync.Mutex
	start   time.Time
	known   time.Time     // the newest known time
	knownAt time.Duration // when it was known, in the running time
	before  time.Duration // for how long earlier processes ran ahead
	isAhead bool
	isTold  bool          // the log says that it is ahead
	aheadAt time.Duration // since when this one does
}

// Load reads the state. It is called before the other methods.
func (c *Clock) Load(ctx context.Context) error {
	state, err := c.Store.HeldTime(ctx)
	if err != nil {
		return err
	}
	c.start, c.known, c.before = c.Wall(), state.At.UTC(), state.Ran
	if state.At.IsZero() { // there is nothing to delete
		c.known = wallOf(c.start)
	}
	c.knownAt = c.running()
	c.round(ctx)
	return nil
}

// running is called under mu, or before others know c.
func (c *Clock) running() time.Duration {
	if c.Running != nil {
		return c.Running()
	}
	return c.Wall().Sub(c.start)
}

func wallOf(t time.Time) time.Time { return t.Round(0).UTC() }

// Run asks the database's server for its time and stores the state, until ctx ends.
func (c *Clock) Run(ctx context.Context) error {
	wait.Every(ctx, storeEvery, c.round)
	return nil
}

func (c *Clock) round(ctx context.Context) {
	if at, err := c.Store.ServerTime(ctx); err == nil && !at.IsZero() {
		c.Confirm(at)
	}
	held, state := c.read()
	isAhead := state.Ahead > 0
	switch {
	case isAhead == c.isTold:
	case isAhead:
		c.Log.WarnContext(ctx, "the clock is ahead of all that is known: old rows stay until something confirms it",
			"ahead", state.Ahead.Round(time.Second), "held_at", held)
	default:
		c.Log.InfoContext(ctx, "the clock was confirmed: old rows are deleted again")
	}
	c.isTold = isAhead
	if err := c.Store.StoreHeldTime(ctx, state); err != nil && ctx.Err() == nil {
		c.Log.WarnContext(ctx, "the held-back time was not stored", "error", err)
	}
}

// Confirm takes the time of a second clock.
func (c *Clock) Confirm(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	running := c.running()
	if at = at.UTC(); at.After(c.known.Add(running - c.knownAt)) {
		c.known, c.knownAt = at, running
	}
}

// Now returns the time by which rows may be deleted. It is never after the wall clock.
func (c *Clock) Now() time.Time {
	held, _ := c.read()
	return held
}

// read returns the held-back time and what is stored. Of a time that is held back that is without the slack: many starts
// in a row would add it up.
func (c *Clock) read() (held time.Time, state State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, running := wallOf(c.Wall()), c.running()
	known := c.known.Add(running - c.knownAt)
	limit := known.Add(slack)
	if !wall.After(limit) {
		c.before, c.isAhead = 0, false
		return wall, State{At: wall}
	}
	if !c.isAhead {
		c.isAhead, c.aheadAt = true, running
	}
	ran := c.before + running - c.aheadAt
	if ran >= confirmed {
		c.known, c.knownAt, c.before, c.isAhead = wall, running, 0, false
		return wall, State{At: wall}
	}
	return limit, State{At: known, Ahead: wall.Sub(limit), Ran: ran}
}
