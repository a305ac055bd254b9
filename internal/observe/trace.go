package observe

import (
	"context"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// TraceHeader carries the trace of a request (W3C Trace Context, section 3.2).
const TraceHeader = "traceparent"

type requestKey struct{}

// WithRequest returns the context of a request with its id, whose operations are children of the span that a text in
// the form of TraceHeader names. A text of another form is left out.
func WithRequest(ctx context.Context, id, trace string) context.Context {
	return context.WithValue(WithTrace(ctx, trace), requestKey{}, id)
}

// RequestID returns the id of the request that a context belongs to; "" outside of a request.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// WithTrace returns a context whose operations are children of the span that a text in the form of TraceHeader names. A text
// of another form is left out.
func WithTrace(ctx context.Context, text string) context.Context {
	if text == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{TraceHeader: text})
}

// Trace returns the span of an operation in the form of TraceHeader; "" = none.
func Trace(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[TraceHeader]
}

// SetTrace adds the trace of an operation to a request that it sends.
func SetTrace(ctx context.Context, header http.Header) {
	if text := Trace(ctx); text != "" {
		header.Set(TraceHeader, text)
	}
}

// maxTurns limits the turns that are announced and not started.
const maxTurns = 16

// TurnTraces keep the traces of a session's turns between the request that announces or starts one
// and its start. The zero value has none.
type TurnTraces struct {
	ids    []string
	traces map[string]string
	last   string
}

// Note keeps the trace of a request about a turn. The first request counts.
func (t *TurnTraces) Note(ctx context.Context, turnID string) {
	trace := Trace(ctx)
	if trace == "" || t.traces[turnID] != "" {
		return
	}
	if t.traces == nil {
		t.traces = map[string]string{}
	}
	if len(t.ids) >= maxTurns {
		delete(t.traces, t.ids[0])
		t.ids = slices.Delete(t.ids, 0, 1)
	}
	t.ids = append(t.ids, turnID)
	t.traces[turnID] = trace
}

// Start returns the context in which a turn starts, and forgets what Note kept.
func (t *TurnTraces) Start(ctx context.Context, turnID string) context.Context {
	ctx = WithTrace(ctx, t.traces[turnID])
	delete(t.traces, turnID)
	t.ids = slices.DeleteFunc(t.ids, func(id string) bool { return id == turnID })
	return ctx
}

// Started keeps the trace of the turn that runs.
func (t *TurnTraces) Started(ctx context.Context) { t.last = Trace(ctx) }

// Last returns the trace of the last turn that started.
func (t *TurnTraces) Last() string { return t.last }

// Both returns an observer that passes operations to the observers that are not nil; nil if none is.
func Both(first, second Observer) Observer {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return &both{first, second}
}

type both struct{ first, second Observer }

// Begin implements Observer.
func (b *both) Begin(ctx context.Context, start Start) (context.Context, Observer) {
	ctx, first := b.first.Begin(ctx, start)
	ctx, second := b.second.Begin(ctx, start)
	if first == nil || second == nil {
		return ctx, Both(first, second)
	}
	return ctx, b
}

// End implements Observer.
func (b *both) End(ctx context.Context, start Start, took time.Duration, out Outcome) {
	b.second.End(ctx, start, took, out)
	b.first.End(ctx, start, took, out)
}
