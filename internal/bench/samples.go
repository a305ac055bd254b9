package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// samples collects durations. It is safe for concurrent use.
type samples struct {
	mu   sync.Mutex
	list []time.Duration
}

func (s *samples) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, d)
}

func (s *samples) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list)
}

func (s *samples) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
}

// spread summarizes samples.
type spread struct {
	Count         int
	P50, P99, Max time.Duration
}

func (s spread) String() string { return fmt.Sprintf("p50 %s, p99 %s", brief(s.P50), brief(s.P99)) }

func (s *samples) spread() spread {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.list)
	if n == 0 {
		return spread{}
	}
	slices.Sort(s.list)
	return spread{Count: n, P50: s.list[(n-1)/2], P99: s.list[n-n/100-1], Max: s.list[n-1]}
}
