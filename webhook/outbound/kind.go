package outbound

import "context"

// Kind is what the queue needs to know of a kind of deliveries.
type Kind struct {
	// Render makes the body at the first attempt; nil if every Job has one. An
	// error of CodeNotFound or CodeGone fails the delivery, any other is tried
	// again.
	Render func(ctx context.Context, d *Delivery) ([]byte, error)
	// Notices may be nil. It may implement DisableNotices too.
	Notices Notices
}

// Notices hear of the end of a delivery inside the transaction that records it.
// They run once per end, and again if that transaction is retried.
type Notices interface {
	// Delivered has the answer's body in reply if it is a whole JSON object of at
	// most 2 MiB, else nil. An error other than CodeUnavailable makes the
	// delivery failed (ReasonReply): Failed is called instead.
	Delivered(ctx context.Context, d *Delivery, reply []byte) error
	// Failed hears of failed and expired; reason is the delivery's.
	Failed(ctx context.Context, d *Delivery, reason string) error
}

// DisableNotices hear that an endpoint was disabled because it asked for it
// (410).
type DisableNotices interface {
	Disabled(ctx context.Context, e *Endpoint, reason string) error
}
