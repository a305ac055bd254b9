package observe

import (
	"context"
	"net/http"
	"slices"
)

// TraceHeader carries the trace of a request (W3C Trace Context, section 3.2).
const TraceHeader = "traceparent"

type traceKey struct{}

// WithTrace returns a context whose operations belong to a trace, in the form of TraceHeader. A
// text of another form is left out.
func WithTrace(ctx context.Context, trace string) context.Context {
	if !isTrace(trace) {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, trace)
}

// isTrace reports whether text has the form of version 00. It is called for every operation, for which a regular
// expression takes too long.
func isTrace(text string) bool {
	if len(text) != 55 || text[:3] != "00-" || text[35] != '-' || text[52] != '-' {
		return false
	}
	id, span, flags := text[3:35], text[36:52], text[53:]
	const zeros = "00000000000000000000000000000000"
	return isHex(id) && isHex(span) && isHex(flags) && id != zeros && span != zeros[:16]
}

func isHex(text string) bool {
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Trace returns the trace of an operation, in the form of TraceHeader; "" = none.
func Trace(ctx context.Context) string {
	trace, _ := ctx.Value(traceKey{}).(string)
	return trace
}

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

// Both returns an observer that passes operations to all observers that are not nil; nil if none is.
func Both(observers ...Observer) Observer {
	observers = slices.DeleteFunc(observers, func(o Observer) bool { return o == nil })
	switch len(observers) {
	case 0:
		return nil
	case 1:
		return observers[0]
	}
	return both(observers)
}

type both []Observer

// Begin implements Observer.
func (b both) Begin(ctx context.Context, start Start) (context.Context, End) {
	ends := make([]End, len(b))
	for i, o := range b {
		ctx, ends[i] = o.Begin(ctx, start)
	}
	return ctx, func(out Outcome) {
		for _, end := range slices.Backward(ends) {
			end(out)
		}
	}
}
