package tracing_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"bellhop/internal/observe"
	"bellhop/internal/tracing"
)

// BenchmarkRequestOfIngest is what an event in a request of its own costs, by the share of traces.
func BenchmarkRequestOfIngest(b *testing.B) {
	for name, ratio := range map[string]float64{"none": 0, "a tenth": 0.1, "all": 1} {
		b.Run(name, func(b *testing.B) {
			collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
			}))
			defer collector.Close()
			tracer, err := tracing.New(b.Context(), tracing.Options{
				URL: collector.URL, Ratio: ratio, Service: "bellhop-broker", Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				ctx, receive := observe.Begin(b.Context(), tracer, observe.Start{
					Operation: observe.Request, Method: http.MethodPost, Name: "/api/webhooks/agent/:taskId",
				})
				_, store := observe.Begin(ctx, tracer, observe.Start{Operation: observe.Ingest})
				store.End(observe.Outcome{Accepted: 1})
				receive.End(observe.Outcome{Status: http.StatusOK})
			}
		})
	}
}
