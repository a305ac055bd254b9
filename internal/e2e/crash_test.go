package e2e

import (
	"testing"
	"time"

	"bellhop/internal/testenv"
)

// tortured selects the long form.
var tortured = testenv.Long()

func TestCrashOfEitherSideMidTurnLosesAndDuplicatesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		l := newLoad(s, 2)
		l.start(t.Context(), 1)
		for _, n := range []*node{s.host, s.broker} {
			pause(t.Context(), time.Second)
			n.kill()
			n.start()
		}
		pause(t.Context(), time.Second)
		conclude(t, s, l)
	})
}

// conclude waits until all turns have ended and everything has arrived, and checks the history.
func conclude(t *testing.T, s *stack, l *load) {
	t.Helper()
	l.finish()
	eventually(t, "everything has arrived", func() bool { return s.quiescent(l.tasks) })
	eventually(t, "the feeds have delivered everything", l.followed)
	l.stopFollowing()
	l.followers.Wait()
	h := collect(s, l.tasks)
	s.noAgentLeft()
	l.addTo(h)
	found := check(h)
	for i, v := range found {
		if i == 40 {
			t.Errorf("… and %d more", len(found)-i)
			break
		}
		t.Error(v)
	}
	s.checkLogs(s.canaries(l.tasks...))
	t.Log(l.summary(h))
}
