// Package targets keeps the network targets that a turn has asked its user about.
package targets

import (
	"context"
	"sync"
)

// maxRefused ends the questions: an agent chooses the names, and must not ask until one of them
// is allowed. Questions without an answer count.
const maxRefused = 3

// Asked are the targets of a turn. The zero value has none.
type Asked struct {
	mu  sync.Mutex
	all map[string]*target
}

type target struct {
	answered chan struct{} // closed with the answer
	allowed  bool          // valid once answered is closed
}

// Allows returns the answer about a target, and waits for it until ctx ends. For a target that
// is new it makes start run ask, which returns the answer; it returns false if too many
// were refused before, or start cannot run it.
func (a *Asked) Allows(ctx context.Context, name string, start func(func()) bool, ask func(name string) bool) bool {
	t := a.find(name, start, ask)
	if t == nil {
		return false
	}
	select {
	case <-t.answered:
		return t.allowed
	case <-ctx.Done():
		return false
	}
}

func (a *Asked) find(name string, start func(func()) bool, ask func(name string) bool) *target {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.all[name]; known != nil {
		return known
	}
	refused := 0
	for _, other := range a.all {
		if !other.allowed {
			refused++
		}
	}
	if refused >= maxRefused {
		return nil
	}
	asked := &target{answered: make(chan struct{})}
	if !start(func() { a.settle(asked, ask(name)) }) {
		return nil
	}
	if a.all == nil {
		a.all = map[string]*target{}
	}
	a.all[name] = asked
	return asked
}

func (a *Asked) settle(t *target, allowed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t.allowed = allowed
	close(t.answered)
}
