package database_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/token"
	"bellhop/internal/database"
	"bellhop/internal/httpapi"
	"bellhop/internal/metrics"
	"bellhop/internal/observe"
	"bellhop/internal/testenv/schema"
	"bellhop/internal/tracing"
	"bellhop/webhook/inbound"
)

// BenchmarkIngestIsObserved compares the webhook on PostgreSQL with and without metrics and traces, as
// BenchmarkIngestIsBounded does, but with the same tasks and connections. A request is the broker's handler of one,
// without a network. The collector of the traces runs in this process, so that its time counts too.
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
			in := newIngester(b, schema.Open(b, schema.Postgres(b), database.PoolerNone), storetest.Sealer(b), true)
			tokens, now := tokensOf(b, in), new(atomic.Int64)
			bare := webhookBlock(in, tokens, now, nil)
			compare(b, bare, webhookBlock(in, tokens, now,
				observe.Both(metrics.New(metrics.Options{Role: metrics.RoleBroker}), with.traces(b))), bare)
		})
	}
}

func tokensOf(b *testing.B, in *ingester) map[string]string {
	b.Helper()
	tokens := map[string]string{}
	for _, taskID := range in.tasks {
		secret, err := in.domain.Secret(b.Context(), taskID)
		if err != nil {
			b.Fatal(err)
		}
		if tokens[taskID], _, err = token.SignWebhook(secret, taskID, "t1", time.Unix(0, 0)); err != nil {
			b.Fatal(err)
		}
	}
	return tokens
}

// webhookBlock returns a block whose requests the broker's handler answers. The time of its limit of requests is now,
// which each block advances.
func webhookBlock(
	in *ingester, tokens map[string]string, now *atomic.Int64, observer observe.Observer,
) func(*testing.B) cost {
	hook := inbound.New(inbound.Options{Ingest: in.domain, Now: func() time.Time { return time.Unix(0, now.Load()) }})
	e := httpapi.New(httpapi.Options{Observer: observer})
	e.POST("/api/agent/webhook", hook.Handle, httpapi.NoStore())
	post := func(ctx context.Context, taskID string, event *broker.Inbound) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		body := append([]byte(`{"sessionId":"`+taskID+`",`), event.Raw[1:]...)
		r, err := http.NewRequestWithContext(
			database.WithBudget(ctx, 5*time.Second), http.MethodPost, "/api/agent/webhook", bytes.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+tokens[taskID])
		r.Header.Set("Content-Type", "application/json")
		w := answer{header: http.Header{}}
		if e.ServeHTTP(&w, r); w.status != http.StatusOK || !bytes.Contains(w.body, []byte(`"accepted":1`)) {
			return fmt.Errorf("%d %s", w.status, w.body)
		}
		return nil
	}
	return func(b *testing.B) cost {
		b.Helper()
		now.Add(int64(ingestEvents / ingestTasks * time.Second / 50))
		in.request, in.domain.Observer = post, observer
		return in.block(b)
	}
}

// answer is a response without a connection. It has a deadline to set, as one with a connection has, and does not copy
// its header, as httptest's recorder does.
type answer struct {
	header http.Header
	status int
	body   []byte
}

func (a *answer) Header() http.Header             { return a.header }
func (a *answer) WriteHeader(status int)          { a.status = status }
func (a *answer) SetReadDeadline(time.Time) error { return nil }

func (a *answer) Write(p []byte) (int, error) {
	a.body = append(a.body, p...)
	return len(p), nil
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
