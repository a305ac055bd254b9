package metrics

import (
	"net/http"

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
	families *families
}

// New registers the metrics of a role.
func New(o Options) *Metrics {
	declared := &families{role: o.Role, read: map[string]*prometheus.Desc{}}
	m := &Metrics{Recorder: newRecorder(o.Streams, declared), registry: prometheus.NewRegistry(), families: declared}
	m.build.WithLabelValues((&vocabulary{most: 1}).bound(o.Version)).Set(1)
	for _, part := range o.Source {
		m.collectErrors.WithLabelValues(part.Name)
	}
	m.registry.MustRegister(declared.registered...)
	m.registry.MustRegister(
		&sourceCollector{o.Source, declared.read, m.collectErrors},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.registry.MustRegister(o.Collectors...)
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
