//go:build full

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"bellhop/internal/testenv"
	"bellhop/internal/testenv/faultproxy"
)

// chaos kills and restarts both servers and breaks the connections between them, each at its
// own pace. Its actions follow from the seed; their timing does not.
type chaos struct {
	s    *stack
	seed uint64
	wild bool // the long form, with slow faults too

	mu    sync.Mutex
	fired map[string]bool
	err   error
}

const (
	fireLimit = 6 * time.Second // a fail point that was not hit by then is tried again
	tries     = 12
)

// runSchedule hits every fail point at least once, with kills at random moments in between.
// Afterwards both servers run and all connections work.
func (c *chaos) runSchedule(ctx context.Context, kills int) {
	c.fired = map[string]bool{}
	over := make(chan struct{})
	var breaker, killers sync.WaitGroup
	breaker.Go(func() { c.breakNet(ctx, over) })
	killers.Go(func() { c.killRepeatedly(ctx, c.s.host, c.rng(1), hostPoints, kills) })
	killers.Go(func() { c.killRepeatedly(ctx, c.s.broker, c.rng(2), brokerPoints, kills) })
	killers.Wait()
	close(over)
	breaker.Wait()
}

func (c *chaos) rng(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(c.seed, 1000+stream)) }

// random is the empty name: SIGKILL at a random moment.
const random = ""

// killRepeatedly kills and restarts one server again and again.
func (c *chaos) killRepeatedly(ctx context.Context, n *node, rng *rand.Rand, points []string, kills int) {
	plan := slices.Clone(points)
	for range kills {
		plan = append(plan, random)
	}
	rng.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
	for _, point := range plan {
		if point == random {
			pause(ctx, between(rng, 100, 1500))
			n.kill()
		} else if !c.dieAt(ctx, n, rng, point) {
			c.fail(fmt.Errorf("%s was never killed at %s", n.name, point))
		}
		pause(ctx, between(rng, 0, 300))
		c.revive(n)
		pause(ctx, between(rng, 200, 800)) // let something happen
	}
}

// dieAt restarts a server with an armed fail point and waits until it dies there.
func (c *chaos) dieAt(ctx context.Context, n *node, rng *rand.Rand, point string) bool {
	nth := 1 + rng.IntN(4)
	for range tries {
		n.kill()
		if point == "reconcile-pulled" {
			pause(ctx, between(rng, 800, 2500)) // meanwhile turns end that the broker has as open
			nth = 1
		}
		if _, err := n.tryStart(dieAt(point, nth)); err != nil {
			c.fail(err)
			return false
		}
		if n.dead(fireLimit) {
			c.mu.Lock()
			c.fired[point] = true
			c.mu.Unlock()
			return true
		}
		nth = 1
		if ctx.Err() != nil {
			return false
		}
	}
	return false
}

// revive starts a server as its supervisor does: again if it ends because its database does not answer in time.
func (c *chaos) revive(n *node) {
	n.kill() // in case it did not die
	const starts = 3
	for i := range starts {
		ready, err := n.tryStart()
		switch {
		case err != nil:
			c.fail(fmt.Errorf("%s does not become ready: %w", n.name, err))
			return
		case ready:
			return
		case i == starts-1:
			c.fail(fmt.Errorf("%s ended by itself at each of %d starts", n.name, starts))
		}
	}
}

func (c *chaos) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// breakNet breaks one of the three connections at a time.
func (c *chaos) breakNet(ctx context.Context, over <-chan struct{}) {
	rng := c.rng(3)
	ways := []*testenv.Proxy{c.s.toHost, c.s.toBroker, c.s.toStream}
	for {
		way := ways[rng.IntN(len(ways))]
		way.Set(c.fault(rng))
		goOn := pauseOr(ctx, over, between(rng, 50, 700))
		way.Set(faultproxy.Pass())
		if !goOn || !pauseOr(ctx, over, between(rng, 50, 900)) {
			return
		}
	}
}

func (c *chaos) fault(rng *rand.Rand) faultproxy.Mode {
	bytes := int64(rng.IntN(3000))
	modes := []faultproxy.Mode{
		faultproxy.Latency(between(rng, 5, 100)),
		faultproxy.CutAfter(bytes),
		faultproxy.CutRequestAfter(bytes),
		faultproxy.CutAnswerAfter(bytes),
		faultproxy.CutAnswerAfter(0),
		faultproxy.Reset(),
		faultproxy.Refuse(),
		faultproxy.BlackHole(),
	}
	if c.wild {
		modes = append(modes, faultproxy.Trickle())
	}
	return modes[rng.IntN(len(modes))]
}

func between(rng *rand.Rand, from, to int) time.Duration {
	return time.Duration(from+rng.IntN(to-from)) * time.Millisecond
}

// pauseOr pauses for d; it returns false, early, when over is closed.
func pauseOr(ctx context.Context, over <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-over:
		return false
	case <-timer.C:
		return true
	}
}
