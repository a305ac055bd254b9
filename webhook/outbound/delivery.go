package outbound

import (
	"time"
)

// State of a delivery.
type State string

// The states. Queued and Held are open, the others final. Service.Retry reopens all but
// Delivered.
const (
	Queued    State = "queued"    // waits for NextAt, or is in flight
	Held      State = "held"      // the endpoint is disabled
	Delivered State = "delivered" // a 2xx arrived
	Failed    State = "failed"    // a response or error that a retry would not change
	Expired   State = "expired"   // not delivered by ExpiresAt
)

// Lifetime of a delivery whose Message has no ExpiresAt.
const Lifetime = 24 * time.Hour

// Message is the argument of Enqueue: one webhook message to one endpoint.
type Message struct {
	EndpointID string
	// MessageID is the webhook-id of every attempt; an endpoint gets one
	// delivery per MessageID, however often it is enqueued.
	MessageID string
	// OrderKey orders deliveries of one endpoint among themselves; "" = any order. The caller
	// must hold the lock of the object that OrderKey names.
	OrderKey string
	Event    string
	// Body is sent unchanged. A nil Body is rendered by the endpoint's Kind at the first
	// attempt and then stored.
	Body      []byte
	ExpiresAt time.Time // zero = Lifetime from now
}

// Delivery is a row of the queue and of the log.
type Delivery struct {
	ID         string
	EndpointID string
	UserID     string
	Kind       string
	Host       string
	MessageID  string
	Event      string
	OrderKey   string
	Body       []byte // nil before the first attempt, and in lists
	State      State
	Reason     string // for Failed, Expired, Held, and a Queued one that waits for its predecessor
	Attempts   int    // attempts made and logged
	// NextAt is when the next attempt is due, or when the claim lapses while InFlight.
	NextAt      time.Time
	AttemptedAt *time.Time
	ExpiresAt   time.Time
	CreatedAt   time.Time
	FinishedAt  *time.Time

	// Lease is the name of the claim; "" when no worker holds one.
	Lease string
	// Blocked reports that an earlier delivery of the same order is still open.
	Blocked bool
	// Log has the attempts, oldest first. Only methods that say so fill it.
	Log []Attempt
}

// InFlight reports that a worker holds a claim.
func (d *Delivery) InFlight() bool { return d.Lease != "" }

// Attempt is one line of a delivery's log.
type Attempt struct {
	DeliveryID string
	Number     int
	At         time.Time
	Duration   time.Duration
	Status     int    // 0 if no response arrived
	Error      string // a Fault; "" if Status says enough
	Answer     []byte // the first 4 KiB of the response
}

// Faults: why an attempt got no response, or a delivery no success. Each is one word for the
// log, without URLs, addresses or text of the other side.
const (
	FaultTimeout     = "timeout"
	FaultDNS         = "dns"
	FaultRefused     = "connection_refused"
	FaultReset       = "connection_reset"
	FaultNetwork     = "network"
	FaultCertificate = "certificate"
	FaultTarget      = "target_refused" // the guard refused the address, or the URL is malformed
	FaultRender      = "render"         // no body could be rendered
	FaultGone        = "gone"           // the object that the delivery is about was deleted
	FaultAbandoned   = "abandoned"      // the worker disappeared
	FaultInterrupted = "interrupted"    // the worker was stopped
	FaultSecret      = "secret"         // the endpoint's secret cannot be unsealed
)

// Reasons of a delivery's state, besides Faults and "status <n>".
const (
	ReasonExpired  = "expired"
	ReasonDisabled = "endpoint_disabled"
	ReasonWaiting  = "waiting"       // for an earlier delivery of the same order
	ReasonReply    = "reply_refused" // delivered, but storing its reply failed
)
