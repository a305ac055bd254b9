package main

import (
	"cmp"
	"fmt"
	"slices"
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

// median accepts an odd or even number of values.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func last[T any](values []T) T { return values[len(values)-1] }

// ratio formats the median of own/yard per round, with the minimum and maximum.
func ratio[T ~int64 | float64](own, yard []T) string {
	ratios := make([]float64, len(own))
	for i := range own {
		ratios[i] = float64(own[i]) / float64(max(yard[i], 1))
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", median(ratios), slices.Min(ratios), slices.Max(ratios))
}

// spreads holds the spread of each round of a scenario.
type spreads []spread

func (s spreads) each(f func(spread) time.Duration) []time.Duration {
	out := make([]time.Duration, len(s))
	for i := range s {
		out[i] = f(s[i])
	}
	return out
}

func (s spreads) p50() []time.Duration {
	return s.each(func(one spread) time.Duration { return one.P50 })
}

func (s spreads) p99() []time.Duration {
	return s.each(func(one spread) time.Duration { return one.P99 })
}

func (s spreads) String() string { return spread{P50: median(s.p50()), P99: median(s.p99())}.String() }

// longest formats the spreads like String, with the maximum of all rounds.
func (s spreads) longest() string {
	return s.String() + ", longest " + brief(slices.Max(s.each(func(one spread) time.Duration { return one.Max })))
}
