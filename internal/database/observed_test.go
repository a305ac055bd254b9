package database_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"bellhop/broker/store/storetest"
	"bellhop/internal/database"
	"bellhop/internal/metrics"
	"bellhop/internal/observe"
	"bellhop/internal/testenv/schema"
	"bellhop/internal/tracing"
)

// BenchmarkIngestIsObserved compares ingest on PostgreSQL with and without metrics and traces, as
// BenchmarkIngestIsBounded does. An event is observed twice, as the server's request and as ingest. The collector
// of the traces runs in this process, so that its time counts too.
func BenchmarkIngestIsObserved(b *testing.B) {
	for _, with := range []struct {
		name   string
		traces func(*testing.B) observe.Observer
	}{
		{"metrics", func(*testing.B) observe.Observer { return nil }},
		{"metrics and a trace in a hundred", func(b *testing.B) observe.Observer { return newTracer(b, 0.01) }},
		{"metrics and a trace in ten", func(b *testing.B) observe.Observer { return newTracer(b, 0.1) }},
		{"metrics and every trace", func(b *testing.B) observe.Observer { return newTracer(b, 1) }},
	} {
		b.Run(with.name, func(b *testing.B) {
			url, sealer := schema.Postgres(b), storetest.Sealer(b)
			var all [3]*ingester
			for i := range all {
				all[i] = newIngester(b, schema.Open(b, url, database.PoolerNone), sealer, true)
			}
			all[1].observer = observe.Both(metrics.New(metrics.Options{Role: metrics.RoleBroker}), with.traces(b))
			all[1].domain.Observer = all[1].observer
			compare(b, all)
		})
	}
}

func newTracer(b *testing.B, ratio float64) observe.Observer {
	b.Helper()
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			b.Error(err)
		}
	}))
	b.Cleanup(collector.Close)
	tracer, err := tracing.New(b.Context(), tracing.Options{
		URL: collector.URL, Ratio: ratio, Service: "bellhop-broker", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := tracer.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	})
	return tracer.Observer()
}
