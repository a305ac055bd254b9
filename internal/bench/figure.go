package bench

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// brief formats a duration with three digits.
func brief(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return digits(float64(d)/float64(time.Microsecond)) + " µs"
	case d < time.Second:
		return digits(float64(d)/float64(time.Millisecond)) + " ms"
	default:
		return digits(d.Seconds()) + " s"
	}
}

// kib formats a number of bytes in KiB.
func kib(bytes float64) string { return digits(bytes/1024) + " KiB" }

// digits formats a number with three digits, or with all digits before the point.
func digits(v float64) string {
	if v >= 1000 || v <= -1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// rate is a number of things per second.
type rate float64

func (r rate) String() string { return fmt.Sprintf("%.0f/s", float64(r)) }

// median accepts an odd or even number of values.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func last[T any](values []T) T { return values[len(values)-1] }

// turns holds a figure and its reference, one of each for every round.
type turns[T any] struct{ own, yard []T }

// inTurns measures a reference and a figure alternately.
func inTurns[T fmt.Stringer](r *run, own, yard func() T) (t turns[T]) {
	for range r.scale.rounds {
		check(r.ctx.Err())
		t.yard, t.own = append(t.yard, yard()), append(t.own, own())
		r.log("  %s beside %s", last(t.own), last(t.yard))
	}
	return t
}

// ratio formats the median of own/yard per round, with the minimum and maximum if
// there are several.
func ratio[T ~int64 | ~float64](own, yard []T) string {
	ratios := make([]float64, len(own))
	for i := range own {
		ratios[i] = float64(own[i]) / float64(max(yard[i], 1))
	}
	if len(ratios) == 1 {
		return fmt.Sprintf("%.2f", ratios[0])
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", median(ratios), slices.Min(ratios), slices.Max(ratios))
}

// rateRow compares the rates of things.
func rateRow(what, things string, t turns[rate], beside, bound string) row {
	return row{
		what: what, figure: fmt.Sprintf("%.0f %s/s", median(t.own), things),
		beside: fmt.Sprintf("%s: %s", beside, median(t.yard)), ratio: ratio(t.own, t.yard), bound: bound,
	}
}

// spreadRow compares spreads.
func spreadRow(what string, t turns[spread], beside, bound string) row {
	own, yard := spreads(t.own), spreads(t.yard)
	return row{
		what: what, figure: own.String(), beside: beside + ": " + yard.String(),
		ratio: ratio(own.p50(), yard.p50()) + " at p50, " + ratio(own.p99(), yard.p99()) + " at p99", bound: bound,
	}
}

// spreads holds the spread of each round of a scenario.
type spreads []spread

func (s spreads) p50() []time.Duration {
	return each(s, func(one spread) time.Duration { return one.P50 })
}

func (s spreads) p99() []time.Duration {
	return each(s, func(one spread) time.Duration { return one.P99 })
}

func (s spreads) String() string { return spread{P50: median(s.p50()), P99: median(s.p99())}.String() }

func (s spreads) longest() time.Duration {
	return slices.Max(each(s, func(one spread) time.Duration { return one.Max }))
}

func each[T, R any](list []T, f func(T) R) []R {
	out := make([]R, len(list))
	for i, one := range list {
		out[i] = f(one)
	}
	return out
}

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
