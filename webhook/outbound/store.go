package outbound

import (
	"context"
	"time"

	"bellhop/protocol"
)

// Store keeps endpoints, deliveries and attempts; package store implements it. Every method
// joins the transaction in its context.
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
	// EndpointsByID omits endpoints that do not exist. Secret is empty if it cannot be
	// unsealed.
	EndpointsByID(ctx context.Context, ids []string) (map[string]*Endpoint, error)
	// Endpoints returns them without secrets, oldest first.
	Endpoints(ctx context.Context, ownerID, kind string) ([]Endpoint, error)
	// EndedBrowsers returns disabled endpoints of KindBrowser, of any owner, without secrets.
	EndedBrowsers(ctx context.Context, limit int) ([]Endpoint, error)
	// UpdateEndpoint locks the row while change runs. If the host changed, open deliveries move
	// to the new one.
	UpdateEndpoint(ctx context.Context, ownerID, id string, change func(*Endpoint) error) (*Endpoint, error)
	// ClearEndpoint deletes the deliveries of an endpoint in transactions of bounded size. It must not be
	// called inside a Write.
	ClearEndpoint(ctx context.Context, ownerID, kind, id string) error
	// DeleteEndpoint also deletes its deliveries. Inside a Write there must be few of them.
	DeleteEndpoint(ctx context.Context, ownerID, kind, id string) error
	// Hold changes the deliveries of an endpoint that are Queued, and not in flight, to Held.
	// Release changes its Held deliveries to Queued and makes them due now.
	Hold(ctx context.Context, endpointID string) error
	Release(ctx context.Context, endpointID string, now time.Time) error
}

// QueueStore keeps the deliveries that are not final, and the claims of workers.
type QueueStore interface {
	// Insert queues d behind the open deliveries of its order. If the endpoint already has the
	// message, nothing changes and inserted is false.
	Insert(ctx context.Context, d *Delivery) (inserted bool, err error)

	// Candidates returns the first due deliveries, oldest first. It locks nothing.
	Candidates(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
	// LatestCandidates returns the last due deliveries, oldest first.
	LatestCandidates(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
	// DueHosts returns hosts that have due deliveries. CandidatesOf returns the first few of
	// each host.
	DueHosts(ctx context.Context, now time.Time, walk HostWalk) (hosts []string, next string, err error)
	CandidatesOf(ctx context.Context, now time.Time, hosts []string, perHost int) ([]Delivery, error)
	// Claim leases those of ids that are still due, not blocked (unless expired) and not being
	// claimed by another worker. An earlier claim that lapsed is logged as an abandoned
	// attempt.
	Claim(ctx context.Context, ids []string, claim Claim) ([]Delivery, error)
	// Park postpones those of ids that are due and blocked (ReasonWaiting).
	Park(ctx context.Context, ids []string, now, until time.Time) error
	// Advance makes the first open delivery of each order due if it was parked.
	Advance(ctx context.Context, orders []Order, now time.Time) error
	// NextDue returns the first time after now when a delivery becomes due.
	NextDue(ctx context.Context, now time.Time) (at time.Time, found bool, err error)

	// Backlog counts the open deliveries. It locks nothing.
	Backlog(ctx context.Context) (Backlog, error)

	// Renew prolongs claims and returns the ids of those still held.
	Renew(ctx context.Context, claims map[string]string, until time.Time) (held []string, err error)
	// SaveBody and Record fail with ErrLeaseLost if the claim d.Lease was lost.
	SaveBody(ctx context.Context, d *Delivery, body []byte) error
	Record(ctx context.Context, c Conclusion) error
	// RecordAll is Record for several deliveries in one transaction. held reports for each
	// whether its claim still held; a delivery whose claim was lost is not changed.
	RecordAll(ctx context.Context, all []Conclusion) (held []bool, err error)
}

// HostWalk is a part of the hosts that have queued deliveries, in the order of their names.
type HostWalk struct {
	After   string   // begin behind this host
	Skip    []string // leave these out
	Limit   int      // return at most this many
	Visited int      // look at no more than this many; DueHosts returns where to continue, "" at the end
}

// Backlog are the deliveries that are not final.
type Backlog struct {
	Queued, Held int64
	Oldest       time.Time // when the oldest queued one was made; zero if none is queued
}

// Order names deliveries of an endpoint that are sent one after the other.
type Order struct{ EndpointID, Key string }

// Conclusion is a claimed delivery as it is when its claim ends.
type Conclusion struct {
	*Delivery
	Attempt *Attempt // nil = no request was made
}

// Claim makes a worker the owner of deliveries until a time. Lease names the claim.
type Claim struct {
	Lease string
	Now   time.Time
	Held  time.Time // by which deliveries expire
	Until time.Time
}

// ErrLeaseLost means that another worker may hold the delivery.
var ErrLeaseLost = protocol.Errorf(protocol.CodeConflict, "The delivery is held by another worker")

// LogStore keeps the log of deliveries.
type LogStore interface {
	// Deliveries returns them newest first, with their attempts and Blocked, without bodies.
	Deliveries(ctx context.Context, f Filter) ([]Delivery, error)
	Delivery(ctx context.Context, ownerID, id string) (*Delivery, error)
	// LockDelivery returns the delivery without attempts and locks its row.
	LockDelivery(ctx context.Context, ownerID, id string) (*Delivery, error)
	// Reopen writes state, reason, next and expiry of a delivery that is not in flight. A final
	// one is queued behind the open ones of its order.
	Reopen(ctx context.Context, d *Delivery) error
	// ExpireHeld makes held deliveries due once their expiry has passed, so that a worker
	// ends them. It returns how many.
	ExpireHeld(ctx context.Context, now time.Time) (int64, error)
	// HastenFar makes due at a time the queued deliveries that are due after far. It returns how many.
	HastenFar(ctx context.Context, far, at time.Time) (int64, error)
	// Prune deletes the final deliveries that ended before the given time, in transactions of bounded
	// size. One that cannot be deleted does not stop the others; the error says so.
	Prune(ctx context.Context, before time.Time) (int64, error)
}

// Filter selects deliveries.
type Filter struct {
	OwnerID    string
	EndpointID string   // "" = all
	State      State    // "" = all
	MessageIDs []string // nil = all
	Before     string   // id of the last delivery of the previous page
	Limit      int
}
