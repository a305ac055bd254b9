package e2e

import (
	"testing"
	"time"
)

func TestCrashOfEitherSideMidTurnLosesAndDoublesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		l := newLoad(s, 2)
		l.start(t.Context(), 1)
		for _, n := range []*node{s.host, s.broker} {
			nap(t.Context(), 1500*time.Millisecond)
			n.kill()
			n.start()
		}
		nap(t.Context(), time.Second)
		conclude(t, s, l)
	})
}

// conclude lets the turns end, waits for quiet, and checks the history.
func conclude(t *testing.T, s *stack, l *load) {
	t.Helper()
	l.finish()
	eventually(t, "everything has arrived", func() bool { return s.quiescent(l.tasks) })
	h := collect(s, l.tasks)
	l.addTo(h)
	events := 0
	for _, session := range h.Sessions {
		events += len(session.Journal)
	}
	found := check(h)
	for i, v := range found {
		if i == 40 {
			t.Errorf("… and %d more", len(found)-i)
			break
		}
		t.Error(v)
	}
	t.Logf("%d turns, %d events", l.turns, events)
}
