package main

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations in buckets less than 1 % wide. It is safe for
// concurrent use.
type histogram struct {
	buckets [64 << fine]atomic.Uint64
}

const fine = 7 // bits after the leading one

func (h *histogram) add(d time.Duration) { h.buckets[bucketOf(d)].Add(1) }

func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	exponent := bits.Len64(n)
	if exponent <= fine {
		return int(n)
	}
	shift := exponent - fine - 1
	return (shift+1)<<fine + int(n>>shift) - 1<<fine
}

// valueOf returns the smallest duration of a bucket.
func valueOf(bucket int) time.Duration {
	shift := bucket>>fine - 1
	if shift < 0 {
		return time.Duration(bucket)
	}
	return time.Duration((bucket&(1<<fine-1) + 1<<fine) << shift)
}

// spread summarizes a histogram.
type spread struct {
	Count         uint64
	P50, P99, Max time.Duration
}

func (s spread) String() string { return fmt.Sprintf("p50 %s, p99 %s", brief(s.P50), brief(s.P99)) }

func (h *histogram) spread() spread {
	var s spread
	counts := make([]uint64, len(h.buckets))
	for i := range h.buckets {
		counts[i] = h.buckets[i].Load()
		s.Count += counts[i]
	}
	var below uint64
	for i, n := range counts {
		if n == 0 {
			continue
		}
		s.Max = valueOf(i)
		if below < (s.Count+1)/2 {
			s.P50 = s.Max
		}
		if below < s.Count-s.Count/100 {
			s.P99 = s.Max
		}
		below += n
	}
	return s
}
