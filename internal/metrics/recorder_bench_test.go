package metrics_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"bellhop/internal/metrics"
	"bellhop/internal/observe"
)

// BenchmarkObserved measures the metrics of a request with one event, and of a request that fails.
func BenchmarkObserved(b *testing.B) {
	m := metrics.New(metrics.Options{Role: metrics.RoleBroker})
	for name, out := range map[string]observe.Outcome{
		"ok":     {Status: http.StatusOK, Accepted: 1, Lag: 20 * time.Millisecond},
		"failed": {Status: http.StatusInternalServerError, Err: errors.New("full")},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ctx, receive := observe.Begin(b.Context(), m, observe.Start{
					Operation: observe.Request, Method: http.MethodPost, Name: "/api/webhooks/agent/:taskId",
				})
				_, store := observe.Begin(ctx, m, observe.Start{Operation: observe.Ingest})
				store.End(out)
				receive.End(out)
			}
		})
	}
}
