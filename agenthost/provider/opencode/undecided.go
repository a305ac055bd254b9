package opencode

import (
	"context"
	"sync"
)

// undecided counts the permissions of each session whose answer OpenCode does
// not have. A rejection rejects all others of its session along with it, those
// too that the user would have allowed: it has to wait until there are none.
type undecided struct {
	mu      sync.Mutex
	open    map[string]int
	denied  map[string]bool
	changed chan struct{} // closed at the next change
}

func newUndecided() *undecided {
	return &undecided{open: map[string]int{}, denied: map[string]bool{}, changed: make(chan struct{})}
}

func (u *undecided) add(session string) { u.change(session, 1) }

func (u *undecided) done(session string) { u.change(session, -1) }

// deny notes a permission that will be rejected.
func (u *undecided) deny(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.denied[id] = true
}

func (u *undecided) isDenied(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.denied[id]
}

func (u *undecided) change(session string, by int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open[session] += by
	close(u.changed)
	u.changed = make(chan struct{})
}

// wait returns when the session has none left, or ctx ends.
func (u *undecided) wait(ctx context.Context, session string) {
	for {
		u.mu.Lock()
		open, changed := u.open[session], u.changed
		u.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
