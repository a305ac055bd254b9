package outbound

import (
	"context"
	"net/http"
	"time"

	"bellhop/protocol"
)

// Kind is how the queue handles deliveries of one kind.
type Kind struct {
	// Render makes the body at the first attempt; nil if every Message has a Body. CodeNotFound and
	// CodeGone fail the delivery, any other error is retried.
	Render func(ctx context.Context, d *Delivery) ([]byte, error)
	// Request builds the request of an attempt, for receivers with a protocol of their own; nil = a signed webhook.
	// CodeNotFound and CodeGone fail the delivery, ErrEndpointEnded also disables its endpoint. Any other error is
	// retried.
	Request func(ctx context.Context, d *Delivery, e *Endpoint, at time.Time) (*http.Request, error)
	// Ends lists the statuses by which a receiver says that it gets no deliveries any more, besides 410.
	Ends []int
	// Notices may be nil. It may also implement DisableNotices.
	Notices Notices
}

// ErrEndpointEnded is returned by Request when the endpoint must get no deliveries any more.
var ErrEndpointEnded = protocol.Errorf(protocol.CodeGone, "The endpoint has ended")

// Notices is called when a delivery ends, inside the transaction that records the end: once per
// end, and again if that transaction is retried.
type Notices interface {
	// Delivered gets the response body in reply if it is a complete JSON object of at most 2
	// MiB, otherwise nil. An error other than CodeUnavailable makes the delivery failed
	// (ReasonReply): Failed is called instead.
	Delivered(ctx context.Context, d *Delivery, reply []byte) error
	// Failed is called for Failed and Expired; reason is the delivery's.
	Failed(ctx context.Context, d *Delivery, reason string) error
}

// DisableNotices is called when an endpoint was disabled by the answer to a delivery (410, Ends) or by
// ErrEndpointEnded.
type DisableNotices interface {
	Disabled(ctx context.Context, e *Endpoint, reason string) error
}
