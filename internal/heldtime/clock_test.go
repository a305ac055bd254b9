package heldtime_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"bellhop/internal/heldtime"
)

// machine has a wall clock that steps, and the store of its processes.
type machine struct {
	running, step time.Duration
	server        time.Time
	state         heldtime.State
}

var epoch = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func (m *machine) wall() time.Time { return epoch.Add(m.running + m.step) }

func (m *machine) HeldTime(context.Context) (heldtime.State, error) { return m.state, nil }

func (m *machine) StoreHeldTime(_ context.Context, s heldtime.State) error {
	if s.At.Before(m.state.At) {
		s.At = m.state.At
	}
	m.state = s
	return nil
}

func (m *machine) ServerTime(context.Context) (time.Time, error) { return m.server, nil }

func (m *machine) boot(t *testing.T) *heldtime.Clock {
	t.Helper()
	c := &heldtime.Clock{
		Wall: m.wall, Running: func() time.Duration { return m.running }, Store: m, Log: slog.New(slog.DiscardHandler),
	}
	if err := c.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTimeThatDeletes(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, c := range []struct {
		rule  string
		steps func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock
		held  time.Duration // behind the wall clock
	}{
		{"an ordinary day", func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock {
			c := boot()
			m.running += day
			return c
		}, 0},
		{"a new installation", func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock {
			m.state.At = time.Time{}
			return boot()
		}, 0},
		{"a start in the future", func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock {
			m.step = 365 * day
			return boot()
		}, 365*day - time.Hour},
		{"the next start in the future", func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock {
			m.step = 365 * day
			boot()
			return boot()
		}, 365*day - time.Hour},
		{"a step while it runs", func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock {
			c := boot()
			m.running, m.step = m.running+3*day, 2*time.Hour
			return c
		}, time.Hour},
		{"a step that is taken back", func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock {
			c := boot()
			m.step = day
			c.Now()
			m.step = 0
			return c
		}, 0},
		{"a clock that is behind", func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock {
			m.step = -365 * day
			return boot()
		}, 0},
		{"the database's server confirms", func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock {
			m.step = 365 * day
			m.server = m.wall().Add(-time.Second)
			return boot()
		}, 0},
		{"the database's server knows better", func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock {
			m.step = 365 * day
			m.server = epoch.Add(30 * day)
			return boot()
		}, 335*day - time.Hour},
		{"a host that is behind takes nothing back", func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock {
			c := boot()
			c.Confirm(epoch.Add(-365 * day))
			return c
		}, 0},
		{"a day of running confirms", func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock {
			m.step = 30 * day
			c := boot()
			m.running += day - time.Second
			if c.Now().Equal(m.wall()) {
				t.Error("it was confirmed too early")
			}
			m.running += time.Second
			return c
		}, 0},
		{"a day of running in parts, too", func(m *machine, boot func() *heldtime.Clock) *heldtime.Clock {
			m.step = 30 * day
			c := boot()
			for range 2 {
				m.running += 12 * time.Hour
				c.Now()
				_ = c.Run(ended())
				c = boot()
			}
			return c
		}, 0},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			m := &machine{state: heldtime.State{At: epoch}}
			clock := c.steps(m, func() *heldtime.Clock { return m.boot(t) })
			if held := m.wall().Sub(clock.Now()); held != c.held {
				t.Errorf("%v behind, want %v", held, c.held)
			}
			if _ = clock.Run(ended()); m.state.Ahead != c.held {
				t.Errorf("it stores that it is %v behind, want %v", m.state.Ahead, c.held)
			}
		})
	}
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
