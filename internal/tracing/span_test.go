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

func TestATraceThatIsNotExportedIsPassedOn(t *testing.T) {
	t.Parallel()
	tracer := newTracer(sdk.NewTracerProvider(sdk.WithSampler(sdk.TraceIDRatioBased(0))))
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
			got := trace.SpanContextFromContext(ingest)
			if !got.IsValid() || got.IsSampled() {
				t.Errorf("%q", observe.Trace(ingest))
			}
			if came := trace.SpanContextFromContext(from); came.IsValid() && got.TraceID() != came.TraceID() {
				t.Errorf("trace %x became %x", came.TraceID(), got.TraceID())
			}
		})
	}
}

func TestTheIngestOfARequestIsItsSpan(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	tracer := newTracer(provider)
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
