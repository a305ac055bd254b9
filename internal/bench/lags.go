package main

import (
	"fmt"
	"time"
)

// lags are one side's, a spread for each round.
type lags []spread

func (l *lags) take(s spread, err error) error {
	*l = append(*l, s)
	return err
}

func (l *lags) last() time.Duration { return (*l)[len(*l)-1].P99 }

func (l *lags) String() string {
	var p50, p99 []time.Duration
	for _, s := range *l {
		p50, p99 = append(p50, s.P50), append(p99, s.P99)
	}
	return fmt.Sprintf("p50 %s, p99 %s", brief(median(p50)), brief(median(p99)))
}

// ratio is that of p99 to the other side's, round by round.
func (l *lags) ratio(other *lags) string {
	var ratios []float64
	for i, s := range *l {
		ratios = append(ratios, float64(s.P99)/float64(max((*other)[i].P99, 1)))
	}
	return ratioOf(ratios)
}
