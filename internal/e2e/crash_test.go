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

// tortured selects the long form.
var tortured = os.Getenv("BELLHOP_LONG") != ""

const tortureTime = 20 * time.Minute

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

func TestCrashOfTheDatabaseLosesAndDuplicatesNothing(t *testing.T) {
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
		pause(t.Context(), time.Second)
		server.Stop()
		pause(t.Context(), time.Duration(200+400*(i%4))*time.Millisecond)
		server.Start()
	}
	pause(t.Context(), time.Second)
	conclude(t, s, l)
}

func TestCrashAtEveryFailPointAndAtRandomLosesAndDuplicatesNothing(t *testing.T) {
	if seed, given := givenSeed(t); given {
		eachStore(t, func(t *testing.T, kind storeKind) { runSeed(t, kind, seed, tortured) })
		return
	}
	if !tortured {
		t.Run("both", func(t *testing.T) {
			eachStore(t, func(t *testing.T, kind storeKind) {
				t.Parallel()
				runSeed(t, kind, rand.Uint64N(seeds), false)
			})
		})
		return
	}
	end := time.Now().Add(tortureTime)
	for time.Now().Before(end) && !t.Failed() {
		seed := rand.Uint64N(seeds)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			eachStore(t, func(t *testing.T, kind storeKind) { runSeed(t, kind, seed, true) })
		})
	}
}

const seeds = 1_000_000

// givenSeed returns the seed to repeat, if there is one.
func givenSeed(t testing.TB) (seed uint64, given bool) {
	t.Helper()
	text := os.Getenv("BELLHOP_SEED")
	if text == "" {
		return 0, false
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("BELLHOP_SEED: %v", err)
	}
	return seed, true
}

// runSeed runs the schedule of a seed once.
func runSeed(t *testing.T, kind storeKind, seed uint64, long bool) {
	t.Logf("BELLHOP_SEED=%d repeats this schedule", seed)
	s := newStack(t, kind)
	workers, kills := 5, 5
	if long {
		workers, kills = 8, 12
	}
	l := newLoad(s, workers)
	l.start(t.Context(), seed)
	c := &chaos{s: s, seed: seed, wild: long}
	c.runSchedule(t.Context(), kills)
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
