package tracing

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// share is the part of the traces that is exported. It decides by a trace's id, as the SDK's TraceIDRatioBased
// does, so that all servers with the same share choose the same traces. It decides before there is a span, because most
// operations belong to traces that are not exported, and a span costs more than counting an event.
type share uint64

func shareOf(ratio float64) share { return share(ratio * math.MaxInt64) }

func (s share) has(id trace.TraceID) bool {
	return s == shareOf(1) || binary.BigEndian.Uint64(id[8:])>>1 < uint64(s)
}

type traceIDKey struct{}

// idsOfContext gives a span that has no parent the trace id for which share has decided.
type idsOfContext struct{}

var _ sdk.IDGenerator = idsOfContext{}

// NewIDs implements sdk.IDGenerator.
func (idsOfContext) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, _ := ctx.Value(traceIDKey{}).(trace.TraceID)
	return id, newSpanID()
}

// NewSpanID implements sdk.IDGenerator.
func (idsOfContext) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return newSpanID() }

func newTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64()) //nolint:gosec // it is no secret
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64()) //nolint:gosec // it is no secret
	}
	return id
}

func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64()) //nolint:gosec // it is no secret
	}
	return id
}
