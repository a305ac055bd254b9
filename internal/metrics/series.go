package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bellhop/internal/observe"
)

// operation is what the labels of an operation's series depend on. Its name is not bounded yet.
type operation struct {
	kind                 observe.Operation
	method, name, result string
	status               int
	isStream             bool
}

// maxKnown limits the operations whose series are found once. With other labels they are found each time.
const maxKnown = 4096

// series are the series that an operation adds to; nil = none. They are found once for operations with the same labels,
// since finding one by its family and labels takes longer than adding to it.
type series struct {
	of operation

	ended, rejected, accepted, duplicates prometheus.Counter
	took, lag                             prometheus.Observer
}

// seriesOf first looks at the last operation of the same kind, which most often had the same labels: to compare them
// takes less time than to hash them.
func (r *Recorder) seriesOf(of operation) *series {
	last := &r.last[of.kind]
	if s := last.Load(); s != nil && s.of == of {
		return s
	}
	s, ok := r.known.get(of)
	if !ok {
		s = r.newSeries(of)
		s.of = of
		s, _ = r.known.add(of, s, maxKnown)
	}
	last.Store(s)
	return s
}

func (r *Recorder) newSeries(of operation) *series {
	if of.kind == observe.Request {
		of.name = r.routes.bound(of.name)
		return r.ofRequest(of)
	}
	of.name = r.names.bound(of.name)
	switch of.kind {
	case observe.CheckIn:
		return &series{
			ended: r.counter("bellhop_checkins_total", of.result),
			took:  r.histogram("bellhop_checkin_duration_seconds"),
		}
	case observe.Ingest:
		return &series{
			ended:      r.counter("bellhop_ingest_total", of.result),
			accepted:   r.counter("bellhop_ingest_events_total", "accepted"),
			duplicates: r.counter("bellhop_ingest_events_total", "duplicate"),
			took:       r.histogram("bellhop_ingest_duration_seconds"),
			lag:        r.histogram("bellhop_event_lag_seconds"),
		}
	case observe.Call:
		return &series{
			ended: r.counter("bellhop_host_calls_total", of.name, of.result),
			took:  r.histogram("bellhop_host_call_duration_seconds", of.name),
		}
	case observe.Turn:
		return &series{
			ended: r.counter("bellhop_turns_total", of.name, of.result),
			took:  r.histogram("bellhop_turn_duration_seconds", of.name),
		}
	case observe.Post:
		return &series{
			ended:    r.counter("bellhop_outbox_posts_total", of.result),
			accepted: r.counter("bellhop_outbox_posted_events_total"),
			took:     r.histogram("bellhop_outbox_post_duration_seconds"),
		}
	case observe.Retention:
		s := &series{accepted: r.counter("bellhop_retention_rows_total", of.name)}
		if of.result != observe.ResultRemoved {
			s.ended = r.counter("bellhop_retention_runs_total", of.name, of.result)
		}
		return s
	case observe.Attempt:
		return &series{
			ended: r.counter("bellhop_webhook_attempts_total", of.name, of.result),
			took:  r.histogram("bellhop_webhook_attempt_duration_seconds", of.name),
			lag:   r.histogram("bellhop_webhook_lag_seconds", of.name),
		}
	default:
		return &series{}
	}
}

func (r *Recorder) ofRequest(of operation) *series {
	s := &series{ended: r.counter("bellhop_http_requests_total", of.method, of.name, strconv.Itoa(of.status))}
	if of.result != "" {
		s.rejected = r.counter("bellhop_rejections_total", of.result)
	}
	if !of.isStream {
		s.took = r.histogram("bellhop_http_request_duration_seconds", of.name)
	}
	return s
}

// counter returns nil for a family that the role does not have.
func (r *Recorder) counter(family string, labels ...string) prometheus.Counter {
	if c := r.counters[family]; c != nil {
		return c.WithLabelValues(labels...)
	}
	return nil
}

// histogram returns nil for a family that the role does not have.
func (r *Recorder) histogram(family string, labels ...string) prometheus.Observer {
	if h := r.histograms[family]; h != nil {
		return h.WithLabelValues(labels...)
	}
	return nil
}

// count adds an operation that took a time and ended.
func (s *series) count(out *observe.Outcome, took time.Duration) {
	add(s.ended, 1)
	add(s.rejected, 1)
	add(s.accepted, out.Accepted)
	add(s.duplicates, out.Duplicates)
	if s.took != nil {
		s.took.Observe(took.Seconds())
	}
	if s.lag != nil && out.Lag > 0 && out.Lag <= maxLag {
		s.lag.Observe(out.Lag.Seconds())
	}
}

func add(c prometheus.Counter, n int) {
	if c != nil && n > 0 {
		c.Add(float64(n))
	}
}
