package metrics

import (
	"context"
	"net/http"
	"slices"
	"strconv"
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
	streamKinds   map[string]string
	routes, names vocabulary

	build, streams *prometheus.GaugeVec
	collectErrors  *prometheus.CounterVec

	requests, rejections, checkIns, ingests, ingestEvents, calls, attempts, retentionRows, retentionRuns *prometheus.CounterVec
	requestTime, checkInTime, ingestTime, eventLag, callTime, attemptTime, webhookLag                    *prometheus.HistogramVec

	turns, posts, postedEvents *prometheus.CounterVec
	turnTime, postTime         *prometheus.HistogramVec
}

var _ observe.Observer = (*Recorder)(nil)

// newRecorder declares all metrics, in the order of docs/metrics.md.
func newRecorder(streamKinds map[string]string, d *families) *Recorder {
	r := &Recorder{streamKinds: streamKinds, routes: vocabulary{most: maxRoutes}, names: vocabulary{most: maxNames}}
	const broker, host = RoleBroker, RoleHost

	r.build = d.gauge(roleBoth, "bellhop_build_info", "1, with the version of the program", "version")
	r.requests = d.counter(roleBoth, "bellhop_http_requests_total", "requests that ended", "method", "route", "status")
	r.requestTime = d.histogram(roleBoth, "bellhop_http_request_duration_seconds",
		"how long requests took; streams are left out", requestBuckets, "route")
	r.rejections = d.counter(roleBoth, "bellhop_rejections_total",
		"requests that ended with an error, by the error's code", "reason")
	r.streams = d.gauge(roleBoth, "bellhop_streams", "streams and WebSocket connections that are open", "kind")
	d.ofSource(roleBoth, "bellhop_disk_free_bytes", "free space on the disk of the data (of a broker: with SQLite only)")
	d.ofSource(roleBoth, "bellhop_disk_size_bytes", "size of that disk")
	r.collectErrors = d.collectErrors("bellhop_collect_errors_total",
		"times that a part of the metrics could not be read and was left out", "part")

	r.checkIns = d.counter(broker, "bellhop_checkins_total", "check-ins, by `ok` or the error's code", "result")
	r.checkInTime = d.histogram(broker, "bellhop_checkin_duration_seconds",
		"how long check-ins took, with the call to the host", requestBuckets)
	r.ingests = d.counter(broker, "bellhop_ingest_total",
		"requests and pulls with events of hosts, by `ok` or the error's code", "result")
	r.ingestEvents = d.counter(broker, "bellhop_ingest_events_total",
		"events in them that were `accepted` or a `duplicate`", "outcome")
	r.ingestTime = d.histogram(broker, "bellhop_ingest_duration_seconds",
		"how long storing the events of a request took", requestBuckets)
	r.eventLag = d.histogram(broker, "bellhop_event_lag_seconds",
		"age of a request's oldest event when it was stored, by the two clocks", lagBuckets)
	r.calls = d.counter(broker, "bellhop_host_calls_total", "requests to agent hosts, by `ok` or the error's code", "call", "result")
	r.callTime = d.histogram(broker, "bellhop_host_call_duration_seconds",
		"how long requests to agent hosts took", requestBuckets, "call")
	d.ofSource(broker, "bellhop_hosts", "registered agent hosts, by the result of the last probe", "health")
	r.attempts = d.counter(broker, "bellhop_webhook_attempts_total",
		"deliveries to users' webhooks: `delivered`, `retry`, `failed`", "kind", "result")
	r.attemptTime = d.histogram(broker, "bellhop_webhook_attempt_duration_seconds",
		"how long an attempt took", requestBuckets, "kind")
	r.webhookLag = d.histogram(broker, "bellhop_webhook_lag_seconds",
		"time from queueing a delivery to its success", lagBuckets, "kind")
	d.ofSource(broker, "bellhop_webhook_deliveries", "deliveries that are `queued` or `held`", "state")
	d.ofSource(broker, "bellhop_webhook_oldest_seconds", "age of the oldest queued delivery; 0 = none is queued")
	r.retentionRows = d.counter(broker, "bellhop_retention_rows_total",
		"rows that retention and erasure removed, tasks that they deleted, bodies that they removed", "step")
	r.retentionRuns = d.counter(broker, "bellhop_retention_runs_total",
		"rounds of retention and erasure, by `ok` or the error's code", "step", "result")
	d.ofPools("go_sql_max_open_connections", "gauge", "limit of the database pool `writer` or `reader`")
	d.ofPools("go_sql_open_connections", "gauge", "connections of the pool")
	d.ofPools("go_sql_in_use_connections", "gauge", "connections that a request uses")
	d.ofPools("go_sql_idle_connections", "gauge", "idle connections")
	d.ofPools("go_sql_wait_count_total", "counter", "times that a request waited for a connection")
	d.ofPools("go_sql_wait_duration_seconds_total", "counter", "how long requests waited for one")
	d.ofPools("go_sql_max_idle_closed_total", "counter", "connections that were closed because enough were idle")
	d.ofPools("go_sql_max_idle_time_closed_total", "counter", "connections that were closed because they were idle for long")
	d.ofPools("go_sql_max_lifetime_closed_total", "counter", "connections that were closed because of their age")

	r.turns = d.counter(host, "bellhop_turns_total", "turns that ended, by their finish reason", "agent", "result")
	r.turnTime = d.histogram(host, "bellhop_turn_duration_seconds",
		"how long turns took, with waits for users' answers", turnBuckets, "agent")
	d.ofSource(host, "bellhop_turns_open", "turns that run")
	d.ofSource(host, "bellhop_sessions", "sessions, by status", "status")
	d.ofSource(host, "bellhop_outbox_events", "events that the brokers have not acknowledged")
	d.ofSource(host, "bellhop_outbox_oldest_seconds", "age of the oldest of them; 0 = there is none")
	d.ofSource(host, "bellhop_outbox_sessions", "sessions, by the state of their outbox", "state")
	r.posts = d.counter(host, "bellhop_outbox_posts_total", "requests with events to brokers: `ok`, `refused`, `unreachable`", "result")
	r.postedEvents = d.counter(host, "bellhop_outbox_posted_events_total", "events in requests that a broker accepted")
	r.postTime = d.histogram(host, "bellhop_outbox_post_duration_seconds", "how long such a request took", requestBuckets)
	d.ofSource(host, "bellhop_dead_letters", "events that a broker refused for good, at most 100 are counted")

	for _, kind := range streamKinds {
		r.streams.WithLabelValues(kind)
	}
	return r
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
	if start.Operation == observe.Request {
		r.endRequest(&start, took, &out)
		return
	}
	name, result, seconds := r.names.bound(start.Name), out.ResultOf(), took.Seconds()
	switch start.Operation {
	case observe.CheckIn:
		r.checkIns.WithLabelValues(result).Inc()
		r.checkInTime.WithLabelValues().Observe(seconds)
	case observe.Ingest:
		r.ingests.WithLabelValues(result).Inc()
		r.ingestEvents.WithLabelValues("accepted").Add(float64(out.Accepted))
		r.ingestEvents.WithLabelValues("duplicate").Add(float64(out.Duplicates))
		r.ingestTime.WithLabelValues().Observe(seconds)
		observeLag(r.eventLag.WithLabelValues(), out.Lag)
	case observe.Call:
		r.calls.WithLabelValues(name, result).Inc()
		r.callTime.WithLabelValues(name).Observe(seconds)
	case observe.Turn:
		r.turns.WithLabelValues(name, finishLabel(result)).Inc()
		r.turnTime.WithLabelValues(name).Observe(seconds)
	case observe.Post:
		r.posts.WithLabelValues(result).Inc()
		r.postedEvents.WithLabelValues().Add(float64(out.Accepted))
		r.postTime.WithLabelValues().Observe(seconds)
	case observe.Retention:
		r.retentionRows.WithLabelValues(name).Add(float64(out.Accepted))
		if result != observe.ResultRemoved {
			r.retentionRuns.WithLabelValues(name, result).Inc()
		}
	case observe.Attempt:
		r.attempts.WithLabelValues(name, result).Inc()
		r.attemptTime.WithLabelValues(name).Observe(seconds)
		observeLag(r.webhookLag.WithLabelValues(name), out.Lag)
	}
}

func (r *Recorder) endRequest(start *observe.Start, took time.Duration, out *observe.Outcome) {
	route := r.routes.bound(start.Name)
	r.requests.WithLabelValues(methodLabel(start.Method), route, strconv.Itoa(out.Status)).Inc()
	if out.Err != nil {
		r.rejections.WithLabelValues(out.ResultOf()).Inc()
	}
	if kind, isStream := r.streamOf(start); isStream {
		r.streams.WithLabelValues(kind).Dec()
	} else {
		r.requestTime.WithLabelValues(route).Observe(took.Seconds())
	}
}

func observeLag(to prometheus.Observer, lag time.Duration) {
	if lag > 0 && lag <= maxLag {
		to.Observe(lag.Seconds())
	}
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
