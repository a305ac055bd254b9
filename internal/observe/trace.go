package observe

import (
	"context"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// TraceHeader carries the trace of a request (W3C Trace Context, section 3.2).
const TraceHeader = "traceparent"

// Span is an operation of a trace. The zero value is none.
type Span struct {
	TraceID [16]byte
	ID      [8]byte
	Flags   byte
}

// parseSpan returns the span that a text in the form of TraceHeader names, and false for a text of another form.
func parseSpan(text string) (s Span, ok bool) {
	if len(text) != 55 || text[:3] != "00-" || text[35] != '-' || text[52] != '-' || text != strings.ToLower(text) {
		return Span{}, false
	}
	raw, err := hex.DecodeString(text[3:35] + text[36:52] + text[53:])
	if err != nil {
		return Span{}, false
	}
	s = Span{TraceID: [16]byte(raw), ID: [8]byte(raw[16:]), Flags: raw[24]}
	if s.TraceID == [16]byte{} || s.ID == [8]byte{} {
		return Span{}, false
	}
	return s, true
}

// String returns the form of TraceHeader; "" = none.
func (s Span) String() string {
	if s == (Span{}) {
		return ""
	}
	text := make([]byte, 0, 55)
	text = hex.AppendEncode(append(text, "00-"...), s.TraceID[:])
	text = hex.AppendEncode(append(text, '-'), s.ID[:])
	return string(hex.AppendEncode(append(text, '-'), []byte{s.Flags}))
}

// WithSpan returns a context whose operations are children of a span.
func WithSpan(ctx context.Context, s Span) context.Context {
	return &spanContext{Context: ctx, span: s}
}

// WithRequest returns the context of a request with its id, whose operations are children of the span that a text in
// the form of TraceHeader names. A text of another form is left out.
func WithRequest(ctx context.Context, id, trace string) context.Context {
	s, _ := parseSpan(trace)
	return &spanContext{Context: ctx, span: s, request: id}
}

// WithFirstSpan is WithSpan where a request begins. If ctx is the request's own context, and without a span, this is
// the span of it from then on: no other code may use that context yet.
func WithFirstSpan(ctx context.Context, s Span) context.Context {
	if c, ok := ctx.(*spanContext); ok && c.request != "" && c.span == (Span{}) {
		c.span = s
		return c
	}
	return WithSpan(ctx, s)
}

// spanContext has its values in itself: context.WithValue would allocate each of them besides, and have one context
// more for all others to ask.
type spanContext struct {
	context.Context
	span    Span
	request string // its id; "" = that of the parent
}

type (
	spanKey    struct{}
	requestKey struct{}
)

// Value implements context.Context.
func (c *spanContext) Value(key any) any {
	if key == (spanKey{}) || key == (requestKey{}) && c.request != "" {
		return c
	}
	return c.Context.Value(key)
}

// RequestID returns the id of the request that a context belongs to; "" outside of a request.
func RequestID(ctx context.Context) string {
	if c, ok := ctx.Value(requestKey{}).(*spanContext); ok {
		return c.request
	}
	return ""
}

// SpanOf returns the span of an operation; the zero value = none.
func SpanOf(ctx context.Context) Span {
	if c, ok := ctx.Value(spanKey{}).(*spanContext); ok {
		return c.span
	}
	return Span{}
}

// WithTrace is WithSpan for a text in the form of TraceHeader. A text of another form is left out.
func WithTrace(ctx context.Context, trace string) context.Context {
	if s, ok := parseSpan(trace); ok {
		return WithSpan(ctx, s)
	}
	return ctx
}

// Trace returns the span of an operation in the form of TraceHeader; "" = none.
func Trace(ctx context.Context) string { return SpanOf(ctx).String() }

// SetTrace adds the trace of an operation to a request that it sends.
func SetTrace(ctx context.Context, header http.Header) {
	if trace := Trace(ctx); trace != "" {
		header.Set(TraceHeader, trace)
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
