// Package observe is the one way from broker and host to their metrics. Each operation of a
// domain reports its begin and its end to an Observer, once, where the operation happens. The
// domains know neither names of metrics nor where they go.
//
// It also keeps the id and the span of a request in the request's context (WithRequest).
//
// Gauges, such as the depth of an outbox, are not observed: internal/app reads them when the metrics
// are requested.
package observe

import (
	"context"
	"time"

	"bellhop/protocol"
)

// Operation is a kind of work that is counted and timed.
type Operation int

// The operations.
const (
	Request   Operation = iota // a request to this server; Name is the pattern of its route
	CheckIn                    // a user's message and the session that it opens
	Ingest                     // events of a host
	Call                       // a request of the broker to a host; Name is the kind of resource
	Turn                       // a turn of an agent; Name is the agent's id
	Post                       // events that a host sends to its broker
	Attempt                    // a delivery to a user's webhook; Name is the kind of its endpoint
	Retention                  // a step of retention; Name is the step
)

// Start describes an operation that begins. Its texts come from the code or from an operator's
// configuration, never from a request.
type Start struct {
	Operation Operation
	Name      string // "" = the operation has none
	Method    string // of a Request
}

// Outcome describes an operation that ended.
type Outcome struct {
	Err    error  // nil = it succeeded
	Result string // one of the Result constants, or a protocol.FinishReason of a Turn; "" = that of Err
	Status int    // of a Request

	Accepted, Duplicates int // events of Ingest and Post; rows that Retention removed

	// Lag is how long ago the oldest of the events was made, or the delivery was queued;
	// 0 = not known.
	Lag time.Duration
}

// Results of operations.
const (
	ResultOK = "ok"

	// Post
	ResultRefused     = "refused"
	ResultUnreachable = "unreachable"

	// Attempt
	ResultDelivered = "delivered"
	ResultRetry     = "retry"
	ResultFailed    = "failed"

	// Retention: rows were removed, and the step continues
	ResultRemoved = "removed"
)

// ResultOf returns Result, or else the code of Err, or else ResultOK.
func (o *Outcome) ResultOf() string {
	switch {
	case o.Result != "":
		return o.Result
	case o.Err != nil:
		return string(protocol.CodeOf(o.Err))
	default:
		return ResultOK
	}
}

// Observer is notified of operations. Its methods are safe for concurrent use and return soon. An observer keeps
// what it knows of an operation in the operation's context, so that one costs no memory besides.
type Observer interface {
	// Begin returns the context of the operation, and the observer whose End is called; nil = none.
	Begin(ctx context.Context, start Start) (context.Context, Observer)
	// End is called once, with the context that Begin returned and how long the operation took.
	End(ctx context.Context, start Start, took time.Duration, out Outcome)
}

// Running is an operation that has begun. The zero value is one that nothing observes.
type Running struct {
	ctx      context.Context
	observer Observer
	start    Start
	began    time.Duration // since origin
}

// origin is where the times of operations begin: to read the monotonic clock alone takes less time than time.Now.
var origin = time.Now()

// Begin notifies o, which may be nil, and returns the context of the operation.
func Begin(ctx context.Context, o Observer, start Start) (context.Context, Running) {
	if o == nil {
		return ctx, Running{}
	}
	r := Running{start: start, began: time.Since(origin)}
	r.ctx, r.observer = o.Begin(ctx, start)
	return r.ctx, r
}

// End ends the operation. It is called once.
func (r Running) End(out Outcome) {
	if r.observer != nil {
		r.observer.End(r.ctx, r.start, time.Since(origin)-r.began, out)
	}
}
