//go:build full

package e2e

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"bellhop/internal/testenv"
)

func TestCrashOfOneOfTwoReplicasLosesAndDuplicatesNothing(t *testing.T) {
	t.Parallel()
	seed, given := givenSeed(t)
	if !given {
		seed = rand.Uint64N(seeds)
	}
	t.Logf("BELLHOP_SEED=%d repeats this schedule", seed)
	s := newStack(t, postgres)
	second := s.newBroker("second broker", freeAddr(t))
	second.start()
	front := testenv.NewProxy(t, addrOf(s.broker))
	s.api = "http://" + front.Addr()

	l := newLoad(s, 4)
	l.start(t.Context(), seed)
	c := &chaos{s: s, seed: seed}
	over := make(chan struct{})
	var work sync.WaitGroup
	// The proxy is a load balancer without affinity: consecutive requests may reach different
	// brokers.
	work.Go(func() { balance(t.Context(), over, c.rng(4), s, front, second) })
	kills := testenv.Rounds(t)
	var killers sync.WaitGroup
	for i, n := range []*node{s.broker, second} {
		killers.Go(func() { c.killRepeatedly(t.Context(), n, c.rng(uint64(5+i)), nil, kills) })
	}
	killers.Wait()
	close(over)
	work.Wait()
	if c.err != nil {
		t.Error(c.err)
	}
	front.Retarget(addrOf(s.broker))
	s.toBroker.Retarget(addrOf(s.broker))
	second.stop()
	conclude(t, s, l)
}

func addrOf(n *node) string { return strings.TrimPrefix(n.url, "http://") }

// balance switches users and hosts between the two brokers.
func balance(ctx context.Context, over <-chan struct{}, rng *rand.Rand, s *stack, front *testenv.Proxy, second *node) {
	brokers := []string{addrOf(s.broker), addrOf(second)}
	for pauseOr(ctx, over, between(rng, 20, 250)) {
		front.Retarget(brokers[rng.IntN(2)])
		s.toBroker.Retarget(brokers[rng.IntN(2)])
	}
}
