package queueing

import "math"

const (
	shortest = 1e-7 // seconds; shorter times count as none
	growth   = 1.04 // the bound of a bucket divided by that of the one before it
)

// Histogram counts times in buckets that grow by 4 %, which is the error of its quantiles.
type Histogram struct {
	buckets []int
	count   int
	sum     float64
}

// Add counts a time.
func (h *Histogram) Add(seconds float64) {
	bucket := 0
	if seconds > shortest {
		bucket = 1 + int(math.Log(seconds/shortest)/math.Log(growth))
	}
	for len(h.buckets) <= bucket {
		h.buckets = append(h.buckets, 0)
	}
	h.buckets[bucket]++
	h.count++
	h.sum += seconds
}

// Count returns how many times were added.
func (h *Histogram) Count() int { return h.count }

// Mean returns the mean; 0 of no times.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	return h.sum / float64(h.count)
}

// Quantile returns the time that a share q of the times does not exceed; 0 of no times.
func (h *Histogram) Quantile(q float64) float64 {
	rank := int(math.Ceil(q * float64(h.count)))
	for bucket, n := range h.buckets {
		if rank -= n; rank <= 0 && n > 0 {
			if bucket == 0 {
				return 0
			}
			return shortest * math.Pow(growth, float64(bucket)-0.5)
		}
	}
	return 0
}
