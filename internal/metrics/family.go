package metrics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Family is a metric of the page docs/metrics.md, which lists the same.
type Family struct {
	Role   string // "" = of both
	Name   string
	Kind   string // counter, gauge or histogram
	Labels []string
	Help   string
}

// Roles of a process.
const (
	RoleBroker = "broker"
	RoleHost   = "host"
	roleBoth   = ""
)

// families are all metrics of Bellhop, as they are declared. What the process's role does not have is not registered:
// adding to it has no effect.
type families struct {
	role       string
	all        []Family
	registered []prometheus.Collector
	read       map[string]*prometheus.Desc // that a Source sets
}

func (d *families) add(f Family) (isOfRole bool) {
	d.all = append(d.all, f)
	return f.Role == roleBoth || f.Role == d.role
}

func (d *families) register(f Family, c prometheus.Collector) {
	if d.add(f) {
		d.registered = append(d.registered, c)
	}
}

func (d *families) counter(role, name, help string, labels ...string) *prometheus.CounterVec {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	d.register(Family{role, name, "counter", labels, help}, vec)
	return vec
}

// collectErrors declares the counter that the collector of the Source shows, after it has read the Source.
func (d *families) collectErrors(name, help string, labels ...string) *prometheus.CounterVec {
	d.add(Family{roleBoth, name, "counter", labels, help})
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (d *families) histogram(role, name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	d.register(Family{role, name, "histogram", labels, help}, vec)
	return vec
}

func (d *families) gauge(role, name, help string, labels ...string) *prometheus.GaugeVec {
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	d.register(Family{role, name, "gauge", labels, help}, vec)
	return vec
}

// ofSource declares a gauge that the Source sets.
func (d *families) ofSource(role, name, help string, labels ...string) {
	if d.add(Family{role, name, "gauge", labels, help}) {
		d.read[name] = prometheus.NewDesc(name, help, labels, nil)
	}
}

// ofPools declares a metric that the collectors of the database pools have.
func (d *families) ofPools(name, kind, help string) {
	d.add(Family{RoleBroker, name, kind, []string{"db_name"}, help})
}

// of returns what is declared for a role alone, or for both.
func (d *families) of(role string) []Family {
	return slices.DeleteFunc(slices.Clone(d.all), func(f Family) bool { return f.Role != role })
}

// Row returns the family as a row of docs/metrics.md.
func (f Family) Row() string {
	labels := "–"
	if len(f.Labels) > 0 {
		labels = "`" + strings.Join(f.Labels, "` `") + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |", f.Name, f.Kind, labels, f.Help)
}
