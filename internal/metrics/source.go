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

// Set sets the gauge of a family; values are those of its labels. A family or a number of values
// that Families does not list panics.
type Set func(family string, value float64, values ...string)

// sourceCollector is a Source as a collector of Prometheus.
type sourceCollector struct {
	source   Source
	families map[string]*prometheus.Desc
	errors   *prometheus.CounterVec
}

// readBySource are the families that a Source sets.
var readBySource = []string{
	"bellhop_disk_free_bytes", "bellhop_disk_size_bytes", "bellhop_hosts", "bellhop_webhook_deliveries",
	"bellhop_webhook_oldest_seconds", "bellhop_turns_open", "bellhop_sessions", "bellhop_outbox_events",
	"bellhop_outbox_oldest_seconds", "bellhop_outbox_sessions", "bellhop_dead_letters",
}

func newSourceCollector(families []Family, source Source) *sourceCollector {
	c := &sourceCollector{source: source, families: map[string]*prometheus.Desc{}}
	named := map[string]Family{}
	for _, f := range families {
		named[f.Name] = f
	}
	for _, name := range readBySource {
		if f, ok := named[name]; ok {
			c.families[name] = prometheus.NewDesc(name, f.Help, f.Labels, nil)
		}
	}
	f := named["bellhop_collect_errors_total"]
	c.errors = prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.Name, Help: f.Help}, f.Labels)
	for _, part := range source {
		c.errors.WithLabelValues(part.Name)
	}
	return c
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
