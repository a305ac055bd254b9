package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// sourceTimeout limits how long the Source is read for one request.
const sourceTimeout = 3 * time.Second

// Source reads gauges, such as the depth of an outbox. Each part is read by itself: a part that returns an error
// is left out and counted, so that a database that does not answer costs only its own metrics.
type Source []Part

// Part is one part of a Source.
type Part struct {
	Name string // of the label part of bellhop_collect_errors_total
	Read func(ctx context.Context, set Set) error
}

// Set sets the gauge of a family; values are those of its labels. A family or a number of values that is not declared for the
// role panics.
type Set func(family string, value float64, values ...string)

// sourceCollector is a Source as a collector of Prometheus.
type sourceCollector struct {
	source   Source
	families map[string]*prometheus.Desc
	errors   *prometheus.CounterVec
}

// Describe implements prometheus.Collector.
func (c *sourceCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.families {
		out <- d
	}
	c.errors.Describe(out)
}

// Collect implements prometheus.Collector.
func (c *sourceCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), sourceTimeout)
	defer cancel()
	for _, part := range c.source {
		var read []prometheus.Metric
		err := part.Read(ctx, func(family string, value float64, values ...string) {
			read = append(read, prometheus.MustNewConstMetric(c.families[family], prometheus.GaugeValue, value, values...))
		})
		if err != nil {
			c.errors.WithLabelValues(part.Name).Inc()
			continue
		}
		for _, m := range read {
			out <- m
		}
	}
	c.errors.Collect(out)
}
