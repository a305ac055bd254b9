package metrics

import (
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options of New.
type Options struct {
	Role    string // RoleBroker or RoleHost
	Version string // of the program
	// Streams are the kinds of stream by the pattern of their route. Requests to these routes
	// are counted while they are open, and their duration is not measured.
	Streams map[string]string
	// Source is read at each request for the metrics.
	Source Source
	// Collectors are further metrics, such as those of database pools.
	Collectors []prometheus.Collector
}

// Metrics are the metrics of one broker or host.
type Metrics struct {
	*Recorder
	registry *prometheus.Registry
}

// New registers the metrics of a role.
func New(o Options) *Metrics {
	m := &Metrics{Recorder: newRecorder(o), registry: prometheus.NewRegistry()}
	families := Families(o.Role)
	for _, c := range m.vectors(families) {
		m.registry.MustRegister(c)
	}
	build := newGauge(families, "bellhop_build_info")
	build.WithLabelValues((&vocabulary{most: 1}).bound(o.Version)).Set(1)
	m.registry.MustRegister(
		build, newSourceCollector(families, o.Source),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	for _, c := range o.Collectors {
		m.registry.MustRegister(c)
	}
	return m
}

// Handler answers GET /metrics. It does not authenticate.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapesAtOnce, ErrorHandling: promhttp.ContinueOnError, DisableCompression: true,
	})
}

// scrapesAtOnce limits how many requests for the metrics read the Source at the same time.
const scrapesAtOnce = 4

func familyOf(families []Family, name string) Family {
	i := slices.IndexFunc(families, func(f Family) bool { return f.Name == name })
	return families[i] // a name that is not listed is a mistake that the first test finds
}

func newGauge(families []Family, name string) *prometheus.GaugeVec {
	f := familyOf(families, name)
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: f.Name, Help: f.Help}, f.Labels)
}
