package queueing

import (
	"maps"
	"slices"
)

// Gauge adds up for how long levels, such as the readers of each host, had which value.
type Gauge struct {
	Sim   *Simulation
	Width float64 // seconds of a period

	periods []map[int]float64 // seconds by value
	levels  []*Level
}

// Level is one value of a gauge that rises and falls.
type Level struct {
	gauge *Gauge
	value int
	since float64
}

// Level adds a level of 0.
func (g *Gauge) Level() *Level {
	l := &Level{gauge: g, since: g.Sim.now}
	g.levels = append(g.levels, l)
	return l
}

// Value returns the present value.
func (l *Level) Value() int { return l.value }

// Move changes the value.
func (l *Level) Move(by int) {
	l.account()
	l.value += by
}

func (l *Level) account() {
	g := l.gauge
	eachPeriod(l.since, g.Sim.now, g.Width, func(at, span float64) {
		for len(g.periods) <= int(at/g.Width) {
			g.periods = append(g.periods, map[int]float64{})
		}
		g.periods[int(at/g.Width)][l.value] += span
	})
	l.since = g.Sim.now
}

// Mean returns the mean of all levels in a period.
func (g *Gauge) Mean(period int) float64 {
	var area, time float64
	for _, value := range g.values(period) {
		seconds := g.periods[period][value]
		area += float64(value) * seconds
		time += seconds
	}
	if time == 0 {
		return 0
	}
	return area / time
}

// Quantile returns the value that a level does not exceed for a share q of a period.
func (g *Gauge) Quantile(period int, q float64) int {
	values := g.values(period)
	var total, passed float64
	for _, value := range values {
		total += g.periods[period][value]
	}
	for _, value := range values {
		if passed += g.periods[period][value]; passed >= q*total {
			return value
		}
	}
	return 0
}

// values returns the values of a period in order, so that sums do not depend on the order of a map.
func (g *Gauge) values(period int) []int {
	for _, l := range g.levels {
		l.account()
	}
	if period >= len(g.periods) {
		return nil
	}
	return slices.Sorted(maps.Keys(g.periods[period]))
}
