// Package metrics owns the names of the Prometheus metrics of broker and host, what counts
// operations (a Recorder, which implements observe.Observer), and the handler of /metrics. The
// page docs/metrics.md lists the metrics; a test compares it with this package.
//
// Gauges are read from a Source of internal/app when the metrics are requested.
package metrics
