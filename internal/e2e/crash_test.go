package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"bellhop/internal/testenv"
)

// tortured runs the long form.
var tortured = os.Getenv("BELLHOP_TORTURE") != ""

const tortureTime = 20 * time.Minute

func TestCrashOfEitherSideMidTurnLosesAndDoublesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := newStack(t, kind)
		l := newLoad(s, 2)
		l.start(t.Context(), 1)
		for _, n := range []*node{s.host, s.broker} {
			nap(t.Context(), time.Second)
			n.kill()
			n.start()
		}
		nap(t.Context(), time.Second)
		conclude(t, s, l)
	})
}

func TestCrashOfTheDatabaseLosesAndDoublesNothing(t *testing.T) {
	server := testenv.PostgresServer(t)
	s := prepareStackOn(t, t.TempDir(), postgres, server.URL())
	s.host.start()
	s.broker.start()
	l := newLoad(s, 3)
	l.start(t.Context(), 2)
	rounds := 3
	if tortured {
		rounds = 30
	}
	for i := range rounds {
		nap(t.Context(), time.Second)
		server.Stop()
		nap(t.Context(), time.Duration(200+400*(i%4))*time.Millisecond)
		server.Start()
	}
	nap(t.Context(), time.Second)
	conclude(t, s, l)
}

func TestCrashAtEveryFailPointAndAtRandomLosesAndDoublesNothing(t *testing.T) {
	if text := os.Getenv("BELLHOP_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("BELLHOP_SEED: %v", err)
		}
		eachStore(t, func(t *testing.T, kind storeKind) { storm(t, kind, seed, tortured) })
		return
	}
	if !tortured {
		t.Run("both", func(t *testing.T) {
			eachStore(t, func(t *testing.T, kind storeKind) {
				t.Parallel()
				storm(t, kind, rand.Uint64N(1_000_000), false)
			})
		})
		return
	}
	end := time.Now().Add(tortureTime)
	for time.Now().Before(end) && !t.Failed() {
		seed := rand.Uint64N(1_000_000)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			eachStore(t, func(t *testing.T, kind storeKind) { storm(t, kind, seed, true) })
		})
	}
}

// storm is one run of the schedule of a seed.
func storm(t *testing.T, kind storeKind, seed uint64, long bool) {
	t.Logf("BELLHOP_SEED=%d repeats this schedule", seed)
	s := newStack(t, kind)
	workers, kills := 5, 5
	if long {
		workers, kills = 8, 12
	}
	l := newLoad(s, workers)
	l.start(t.Context(), seed)
	c := &chaos{s: s, seed: seed, wild: long}
	c.rage(t.Context(), kills)
	if c.err != nil {
		t.Error(c.err)
	}
	for _, point := range slices.Concat(hostPoints, brokerPoints) {
		if !c.fired[point] {
			t.Errorf("nothing was killed at %s", point)
		}
	}
	conclude(t, s, l)
}

// conclude lets the turns end, waits for quiet, and checks the history.
func conclude(t *testing.T, s *stack, l *load) {
	t.Helper()
	l.finish()
	eventually(t, "everything has arrived", func() bool { return s.quiescent(l.tasks) })
	eventually(t, "the feeds have told it", l.followed)
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
