package tracing

import (
	"context"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"bellhop/internal/observe"
)

func TestAShareHasTheTracesThatTheSDKWouldChoose(t *testing.T) {
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
	tracer := &Tracer{share: shareOf(0)}
	for name, from := range map[string]context.Context{
		"begins here":              t.Context(),
		"came with a request":      observe.WithTrace(t.Context(), "00-00000000000000000000000000000007-0000000000000009-00"),
		"is exported by a caller":  observe.WithTrace(t.Context(), "00-00000000000000000000000000000007-0000000000000009-01"),
		"has flags we do not know": observe.WithTrace(t.Context(), "00-00000000000000000000000000000007-0000000000000009-03"),
	} {
		t.Run(name, func(t *testing.T) {
			request, endRequest := tracer.Begin(from, observe.Start{Operation: observe.Request})
			ingest, endIngest := tracer.Begin(request, observe.Start{Operation: observe.Ingest})
			endIngest(observe.Outcome{})
			endRequest(observe.Outcome{})
			got := parentOf(ingest)
			if !got.IsValid() || got.IsSampled() || observe.Trace(ingest) != observe.Trace(request) {
				t.Errorf("%q", observe.Trace(ingest))
			}
			if came := parentOf(from); came.IsValid() && got.TraceID() != came.TraceID() {
				t.Errorf("trace %s became %s", came.TraceID(), got.TraceID())
			}
		})
	}
}
