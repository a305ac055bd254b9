package tracing

import (
	"context"
	"slices"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"bellhop/internal/observe"
)

func TestAShareHasTheTracesThatTheSDKWouldChoose(t *testing.T) {
	t.Parallel()
	for _, ratio := range []float64{0, 1e-9, 0.001, 0.1, 0.5, 0.999, 1} {
		own, sampler := shareOf(ratio), sdk.TraceIDRatioBased(ratio)
		for range 2000 {
			id := newTraceID()
			theirs := sampler.ShouldSample(sdk.SamplingParameters{ParentContext: t.Context(), TraceID: id})
			if own.has(id) != (theirs.Decision == sdk.RecordAndSample) {
				t.Fatalf("a share of %v and trace %s: %v", ratio, id, own.has(id))
			}
		}
		for _, edge := range []trace.TraceID{{8: 0}, {15: 2}, {8: 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
			theirs := sampler.ShouldSample(sdk.SamplingParameters{ParentContext: t.Context(), TraceID: edge})
			if own.has(edge) != (theirs.Decision == sdk.RecordAndSample) {
				t.Errorf("a share of %v and trace %s: %v", ratio, edge, own.has(edge))
			}
		}
	}
}

func TestATraceThatIsNotExportedIsPassedOn(t *testing.T) {
	t.Parallel()
	tracer := &Tracer{share: shareOf(0)}
	for name, from := range map[string]context.Context{
		"begins here":              t.Context(),
		"came with a request":      observe.WithTrace(t.Context(), "00-00000000000000000000000000000007-0000000000000009-00"),
		"is exported by a caller":  observe.WithTrace(t.Context(), "00-00000000000000000000000000000007-0000000000000009-01"),
		"has flags we do not know": observe.WithTrace(t.Context(), "00-00000000000000000000000000000007-0000000000000009-03"),
	} {
		t.Run(name, func(t *testing.T) {
			request, receive := observe.Begin(from, tracer, observe.Start{Operation: observe.Request})
			ingest, store := observe.Begin(request, tracer, observe.Start{Operation: observe.Ingest})
			store.End(observe.Outcome{})
			receive.End(observe.Outcome{})
			got := observe.SpanOf(ingest)
			if got == (observe.Span{}) || got.Flags&sampled != 0 || observe.Trace(ingest) != observe.Trace(request) {
				t.Errorf("%q", observe.Trace(ingest))
			}
			if came := observe.SpanOf(from); came != (observe.Span{}) && got.TraceID != came.TraceID {
				t.Errorf("trace %x became %x", came.TraceID, got.TraceID)
			}
		})
	}
}

func TestTheIngestOfARequestIsItsSpan(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans), sdk.WithIDGenerator(idsOfContext{}))
	tracer := &Tracer{provider: provider, tracer: provider.Tracer("bellhop"), share: shareOf(1)}
	request, receive := observe.Begin(t.Context(), tracer, observe.Start{
		Operation: observe.Request, Method: "POST", Name: "/hook",
	})
	ingest := func(ctx context.Context, accepted int) {
		_, store := observe.Begin(ctx, tracer, observe.Start{Operation: observe.Ingest})
		store.End(observe.Outcome{Accepted: accepted})
	}
	ingest(request, 3)
	call, ask := observe.Begin(request, tracer, observe.Start{Operation: observe.Call, Name: "events"})
	ingest(call, 4) // it took part of the request's time, which has to be seen
	ask.End(observe.Outcome{})
	receive.End(observe.Outcome{Status: 200})
	ingest(t.Context(), 5)
	var got []string
	for _, s := range spans.Ended() {
		text := s.Name()
		for _, a := range s.Attributes() {
			text += " " + string(a.Key) + "=" + a.Value.String()
		}
		got = append(got, text)
	}
	want := []string{
		"ingest bellhop.result=ok bellhop.accepted=4 bellhop.duplicates=0",
		"call events bellhop.result=ok",
		"POST /hook bellhop.accepted=3 bellhop.duplicates=0 http.request.method=POST http.route=/hook " +
			"bellhop.result=ok http.response.status_code=200",
		"ingest bellhop.result=ok bellhop.accepted=5 bellhop.duplicates=0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
