package metrics

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bellhop/internal/observe"
	"bellhop/protocol"
)

// Limits of the values of labels.
const (
	maxRoutes = 256
	maxNames  = 64 // agents, kinds of endpoints, kinds of calls
)

// maxLag is the longest lag that is measured. The clock of a host may be wrong by any amount, and one
// absurd value would spoil the sum for as long as the process runs.
const maxLag = 7 * 24 * time.Hour

// Buckets of histograms, in seconds.
var (
	requestBuckets = []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	turnBuckets    = []float64{1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14400}
	lagBuckets     = []float64{.05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 1800, 7200, 86400}
)

// Recorder counts and times operations. It implements observe.Observer.
type Recorder struct {
	streamKinds map[string]string

	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
	streams    *prometheus.GaugeVec

	routes, names vocabulary

	known copyOnWrite[operation, *series]
	last  [observe.Operations]atomic.Pointer[series] // of each kind
}

var _ observe.Observer = (*Recorder)(nil)

func newRecorder(o Options) *Recorder {
	return &Recorder{
		streamKinds: o.Streams, routes: vocabulary{most: maxRoutes}, names: vocabulary{most: maxNames},
		counters: map[string]*prometheus.CounterVec{}, histograms: map[string]*prometheus.HistogramVec{},
	}
}

// counted are the families that a Recorder counts; timed has the buckets of its histograms.
var (
	counted = []string{
		"bellhop_http_requests_total", "bellhop_rejections_total", "bellhop_checkins_total", "bellhop_ingest_total",
		"bellhop_ingest_events_total", "bellhop_host_calls_total", "bellhop_webhook_attempts_total", "bellhop_turns_total",
		"bellhop_outbox_posts_total", "bellhop_outbox_posted_events_total", "bellhop_retention_rows_total",
		"bellhop_retention_runs_total",
	}
	timed = map[string][]float64{
		"bellhop_http_request_duration_seconds":    requestBuckets,
		"bellhop_checkin_duration_seconds":         requestBuckets,
		"bellhop_ingest_duration_seconds":          requestBuckets,
		"bellhop_event_lag_seconds":                lagBuckets,
		"bellhop_host_call_duration_seconds":       requestBuckets,
		"bellhop_webhook_attempt_duration_seconds": requestBuckets,
		"bellhop_webhook_lag_seconds":              lagBuckets,
		"bellhop_turn_duration_seconds":            turnBuckets,
		"bellhop_outbox_post_duration_seconds":     requestBuckets,
	}
)

// vectors makes what the Recorder fills.
func (r *Recorder) vectors(families []Family) []prometheus.Collector {
	r.streams = newGauge(families, "bellhop_streams")
	for _, kind := range r.streamKinds {
		r.streams.WithLabelValues(kind)
	}
	all := []prometheus.Collector{r.streams}
	for _, f := range families {
		buckets, isTimed := timed[f.Name]
		switch {
		case isTimed:
			r.histograms[f.Name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{
				Name: f.Name, Help: f.Help, Buckets: buckets,
			}, f.Labels)
			all = append(all, r.histograms[f.Name])
		case slices.Contains(counted, f.Name):
			r.counters[f.Name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.Name, Help: f.Help}, f.Labels)
			all = append(all, r.counters[f.Name])
		}
	}
	return all
}

// Begin implements observe.Observer.
func (r *Recorder) Begin(ctx context.Context, start observe.Start) (context.Context, observe.Observer) {
	if kind, isStream := r.streamOf(&start); isStream {
		r.streams.WithLabelValues(kind).Inc()
	}
	return ctx, r
}

// End implements observe.Observer.
func (r *Recorder) End(_ context.Context, start observe.Start, took time.Duration, out observe.Outcome) {
	kind, isStream := r.streamOf(&start)
	if isStream {
		r.streams.WithLabelValues(kind).Dec()
	}
	of := operation{kind: start.Operation, name: start.Name, isStream: isStream}
	switch of.kind {
	case observe.Request:
		of.method, of.status = methodLabel(start.Method), out.Status
		if out.Err != nil {
			of.result = out.ResultOf()
		}
	case observe.Turn:
		of.result = finishLabel(out.ResultOf())
	default:
		of.result = out.ResultOf()
	}
	r.seriesOf(of).count(&out, took)
}

// streamOf returns the kind of the stream that an operation is.
func (r *Recorder) streamOf(start *observe.Start) (kind string, isStream bool) {
	if start.Operation == observe.Request {
		kind, isStream = r.streamKinds[start.Name]
	}
	return kind, isStream
}

// methodLabel returns the method, or other: a client can send any word as a method.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return other
	}
}

// finishLabel returns the finish reason of a turn, or other: an agent can report any text.
func finishLabel(reason string) string {
	if slices.Contains(protocol.FinishReasons, protocol.FinishReason(reason)) {
		return reason
	}
	return other
}
