//go:build full

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

const tortureTime = 20 * time.Minute

func TestCrashOfTheDatabaseLosesAndDuplicatesNothing(t *testing.T) {
	t.Parallel()
	server := testenv.PostgresServer(t)
	s := prepareStackOn(t, t.TempDir(), postgres, server.URL())
	s.host.start()
	s.broker.start()
	l := newLoad(s, 3)
	l.start(t.Context(), 2)
	for i := range testenv.Rounds(t) {
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
	t.Parallel()
	if !tortured {
		t.Run("both", func(t *testing.T) {
			eachStore(t, func(t *testing.T, kind storeKind) { runSeed(t, kind, rand.Uint64N(seeds), false) })
		})
		return
	}
	end := time.Now().Add(tortureTime)
	for time.Now().Before(end) && !t.Failed() {
		seed := rand.Uint64N(seeds)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			// One after the other: parallel tests would all wait for the end of this loop.
			testenv.EachDatabase(t, func(t *testing.T, kind string) { runSeed(t, storeKind(kind), seed, true) })
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
		t.Fatal(c.err) // a server that does not run would leave the users checking in for ever
	}
	for _, point := range slices.Concat(hostPoints, brokerPoints) {
		if !c.fired[point] {
			t.Errorf("nothing was killed at %s", point)
		}
	}
	conclude(t, s, l)
}
