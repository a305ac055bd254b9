package outbound

import (
	"context"
	"time"

	"bellhop/protocol"
)

// Store keeps endpoints, deliveries and attempts; package store has it. Every
// method joins the transaction in its context.
type Store interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	EndpointStore
	QueueStore
	LogStore
}

// EndpointStore has the endpoints. ownerID "" means any owner.
type EndpointStore interface {
	CreateEndpoint(ctx context.Context, e *Endpoint) error
	Endpoint(ctx context.Context, ownerID, id string) (*Endpoint, error)
	// EndpointsByID leaves out those that are gone; of one whose secret does not
	// open, Secret is empty.
	EndpointsByID(ctx context.Context, ids []string) (map[string]*Endpoint, error)
	// Endpoints come without secrets, oldest first.
	Endpoints(ctx context.Context, ownerID, kind string) ([]Endpoint, error)
	// UpdateEndpoint locks the row while change runs. Open deliveries follow to
	// a new host.
	UpdateEndpoint(ctx context.Context, ownerID, id string, change func(*Endpoint) error) (*Endpoint, error)
	// DeleteEndpoint takes its deliveries along.
	DeleteEndpoint(ctx context.Context, ownerID, kind, id string) error
	// Hold and Release move the open deliveries of an endpoint that nobody sends.
	Hold(ctx context.Context, endpointID string) error
	Release(ctx context.Context, endpointID string, now time.Time) error
}

// QueueStore is the queue.
type QueueStore interface {
	// Insert places d behind the open deliveries of its order. One that is there
	// already (endpoint and message) is left alone: inserted is false.
	Insert(ctx context.Context, d *Delivery) (inserted bool, err error)

	// Candidates are the first deliveries due, oldest first. It locks nothing.
	Candidates(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
	// OtherCandidates look past the deliveries of some hosts, but at depth of
	// them all at most. more says that there may be others behind.
	OtherCandidates(ctx context.Context, now time.Time, hosts []string, depth, limit int) (list []Delivery, more bool, err error)
	// DueHosts are hosts after a name, in order of names, that have something
	// due; CandidatesOf takes the first few of each.
	DueHosts(ctx context.Context, now time.Time, after string, limit int) ([]string, error)
	CandidatesOf(ctx context.Context, now time.Time, hosts []string, perHost int) ([]Delivery, error)
	// Claim leases those of ids that are still due, not blocked (unless
	// expired) and not being claimed by another worker. An earlier claim that
	// lapsed is logged as an abandoned attempt.
	Claim(ctx context.Context, ids []string, claim Claim) ([]Delivery, error)
	// Park puts off those of ids that are due and blocked (ReasonWaiting).
	Park(ctx context.Context, ids []string, now, until time.Time) error
	// Advance makes the first open delivery of an order due if it was parked.
	Advance(ctx context.Context, endpointID, orderKey string, now time.Time) error
	// NextDue is the first time after now that something becomes due.
	NextDue(ctx context.Context, now time.Time) (at time.Time, found bool, err error)

	// Renew prolongs claims and returns the ids among them that are still held.
	Renew(ctx context.Context, claims map[string]string, until time.Time) (held []string, err error)
	// KeepBody and Record fail with ErrLeaseLost if the delivery is no longer
	// held under d.Lease.
	KeepBody(ctx context.Context, d *Delivery, body []byte) error
	Record(ctx context.Context, d *Delivery, attempt *Attempt) error
}

// Claim says under which name and how long.
type Claim struct {
	Lease string
	Now   time.Time
	Until time.Time
}

// ErrLeaseLost means that another worker may have the delivery.
var ErrLeaseLost = protocol.Errorf(protocol.CodeConflict, "The delivery is held by another worker")

// LogStore is the log.
type LogStore interface {
	// Deliveries come newest first, with their attempts and without bodies.
	Deliveries(ctx context.Context, f Filter) ([]Delivery, error)
	Delivery(ctx context.Context, ownerID, id string) (*Delivery, error)
	// LockDelivery is Delivery without attempts and under the row's lock.
	LockDelivery(ctx context.Context, ownerID, id string) (*Delivery, error)
	// Reopen writes state, reason, next and expiry of a delivery nobody holds,
	// behind the open ones of its order if it was final.
	Reopen(ctx context.Context, d *Delivery) error
	// ExpireHeld makes held deliveries whose time is over due, so that a worker
	// ends them.
	ExpireHeld(ctx context.Context, now time.Time) (int64, error)
	// Prune deletes up to limit final deliveries that ended before.
	Prune(ctx context.Context, before time.Time, limit int) (int64, error)
}

// Filter of Deliveries.
type Filter struct {
	OwnerID    string
	EndpointID string // "" = all
	State      State  // "" = all
	Before     string // id of the last one seen
	Limit      int
}
