package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"bellhop/broker"
)

// groups is a flush that blocks until its gate is opened.
type groups struct {
	mu   sync.Mutex
	seen []string // the tasks of each group
	held int
	gate chan struct{}
}

func (g *groups) flush(_ context.Context, group []*appendRequest) {
	names := make([]string, len(group))
	for i, a := range group {
		names[i] = a.batch.Task.ID
		a.done = true
	}
	g.mu.Lock()
	g.seen = append(g.seen, strings.Join(names, " "))
	g.held++
	g.mu.Unlock()
	<-g.gate
	g.mu.Lock()
	g.held--
	g.mu.Unlock()
}

func (g *groups) running() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held > 0
}

func (g *groups) all() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.seen, ", ")
}

func add(task string, events int) *appendRequest {
	return &appendRequest{batch: &broker.Batch{Task: &broker.Task{ID: task}, Events: make([]broker.StoredEvent, events)}}
}

// commit calls do for one request after the other. It returns the groups that were
// written before the gate opened, and all groups.
func commit(t *testing.T, requests ...*appendRequest) (first, all string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var c groupCommit
		g := &groups{gate: make(chan struct{})}
		var wg sync.WaitGroup
		for _, a := range requests {
			wg.Go(func() {
				if done, err := c.do(t.Context(), a, g.flush); !done || err != nil {
					t.Errorf("%s: %t, %v", a.batch.Task.ID, done, err)
				}
			})
			synctest.Wait()
		}
		first = g.all()
		for g.running() { // one at a time, because the order in which they end decides the order of the next ones
			g.gate <- struct{}{}
			synctest.Wait()
		}
		wg.Wait()
		all = g.all()
		if c.flushing != 0 || len(c.waiting) != 0 {
			t.Errorf("%d flush, %d wait", c.flushing, len(c.waiting))
		}
	})
	return first, all
}

func TestRequestsShareAStatementWhileOthersAreWritten(t *testing.T) {
	t.Parallel()
	var many []*appendRequest
	for i := range maxFlushing + maxGroup + 1 {
		many = append(many, add(fmt.Sprint(i), 1))
	}
	var names []string
	for i := range maxGroup {
		names = append(names, fmt.Sprint(maxFlushing+i))
	}
	for _, c := range []struct {
		rule       string
		requests   []*appendRequest
		first, all string
	}{
		{"a request that comes alone does not wait", []*appendRequest{add("a", 1)}, "a", "a"},
		{"one is written at a time", []*appendRequest{add("a", 1), add("b", 1)}, "a", "a, b"},
		{"the others share the next statement", []*appendRequest{add("a", 1), add("c", 1), add("d", 1)}, "a", "a, c d"},
		{
			"a task stands once in a statement",
			[]*appendRequest{add("a", 1), add("c", 1), add("c", 1), add("d", 1)},
			"a", "a, c d, c",
		},
		{
			"a statement has a limited number of events",
			[]*appendRequest{add("a", 1), add("c", maxGroupEvents-1), add("d", 2), add("e", 1)},
			"a", "a, c e, d",
		},
		{
			"a statement has a limited number of tasks", many,
			"0", "0, " + strings.Join(names, " ") + ", " + fmt.Sprint(maxFlushing+maxGroup),
		},
		{"a request that is larger than a group is written alone", []*appendRequest{add("a", maxGroupEvents+1)}, "a", "a"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			first, all := commit(t, c.requests...)
			if first != c.first || all != c.all {
				t.Errorf("%q, then %q; want %q, then %q", first, all, c.first, c.all)
			}
		})
	}
}

func TestARequestThatLeavesDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c groupCommit
		g := &groups{gate: make(chan struct{})}
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = c.do(t.Context(), add("a", 1), g.flush) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if done, err := c.do(ctx, add("gone", 1), g.flush); done || !errors.Is(err, context.Canceled) {
				t.Errorf("%t, %v", done, err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		wg.Go(func() { _, _ = c.do(t.Context(), add("c", 1), g.flush) })
		synctest.Wait()
		close(g.gate)
		wg.Wait()
		if got := g.all(); !strings.HasSuffix(got, ", c") || strings.Contains(got, "gone") || c.flushing != 0 {
			t.Errorf("%q, %d flush", got, c.flushing)
		}
	})
}

// A database that does not respond blocks only the request that waits for it.
func TestARequestGivesUpWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c groupCommit
		g := &groups{gate: make(chan struct{})}
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = c.do(t.Context(), add("a", 1), g.flush) })
		synctest.Wait()
		if done, err := c.do(t.Context(), add("c", 1), g.flush); done || err != nil || len(c.waiting) != 0 {
			t.Errorf("%t, %v, %d wait", done, err, len(c.waiting))
		}
		close(g.gate)
		wg.Wait()
	})
}

// A request may become the leader at the moment it gives up.
func TestALeaderThatLeavesPassesItsSlotOn(t *testing.T) {
	t.Parallel()
	var c groupCommit
	c.flushing = maxFlushing
	gone, next := add("gone", 1), add("next", 1)
	gone.next, next.next = make(chan signal, 1), make(chan signal, 1)
	c.waiting = []*appendRequest{gone, next}
	c.flushing--
	c.startLeader()
	c.leave(gone)
	if got := <-next.next; got != lead || c.flushing != maxFlushing {
		t.Errorf("%v, %d flush", got, c.flushing)
	}
}
