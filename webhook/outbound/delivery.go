package outbound

import (
	"time"
)

// State of a delivery.
type State string

// The states. Queued and held are open, the others final (Retry reopens all but
// delivered).
const (
	Queued    State = "queued"    // waits for its time, or is in flight
	Held      State = "held"      // its endpoint is disabled
	Delivered State = "delivered" // a 2xx came
	Failed    State = "failed"    // an answer or error that repeating would not mend
	Expired   State = "expired"   // not delivered by ExpiresAt
)

// Lifetime of a delivery whose job names no end.
const Lifetime = 24 * time.Hour

// Job is what Enqueue takes.
type Job struct {
	EndpointID string
	// MessageID is the webhook-id of every attempt; an endpoint gets one
	// delivery per MessageID, however often it is enqueued.
	MessageID string
	// OrderKey orders deliveries of one endpoint among themselves; "" = any
	// order. The caller holds the lock of whatever it names.
	OrderKey string
	Event    string
	// Body is sent as it is. Nil is rendered by the endpoint's Kind at the first
	// attempt and then kept.
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
	Reason     string // of failed, expired, held and waiting
	Attempts   int    // made and logged
	// NextAt is when the next attempt is due; while InFlight, when the claim
	// lapses.
	NextAt      time.Time
	AttemptedAt *time.Time
	ExpiresAt   time.Time
	CreatedAt   time.Time
	FinishedAt  *time.Time

	// Lease is the name of the claim, "" when nobody holds it.
	Lease string
	// Blocked reports that an earlier delivery of the same order is open.
	Blocked bool
	// Log has the attempts, oldest first, where they were asked for.
	Log []Attempt
}

// InFlight reports that a worker holds it.
func (d *Delivery) InFlight() bool { return d.Lease != "" }

// Attempt is one line of the log.
type Attempt struct {
	DeliveryID string
	Number     int
	At         time.Time
	Duration   time.Duration
	Status     int    // 0 without an answer
	Error      string // a Fault, "" with a status that needs no word
	Answer     []byte // the first 4 KiB of the answer
}

// Why an attempt brought no answer, or a delivery no success: one word for the
// log. No URL, no address, no text of the other side.
const (
	FaultTimeout     = "timeout"
	FaultDNS         = "dns"
	FaultRefused     = "connection_refused"
	FaultReset       = "connection_reset"
	FaultNetwork     = "network"
	FaultCertificate = "certificate"
	FaultTarget      = "target_refused" // the guard, or a URL nobody may ask for
	FaultRender      = "render"         // no body could be made
	FaultGone        = "gone"           // what it was about is deleted
	FaultAbandoned   = "abandoned"      // the worker vanished
	FaultInterrupted = "interrupted"    // the worker was told to stop
	FaultSecret      = "secret"         // the endpoint's secret does not open
)

// Reasons of a delivery's state beside Faults and "status <n>".
const (
	ReasonExpired  = "expired"
	ReasonDisabled = "endpoint_disabled"
	ReasonWaiting  = "waiting"       // for an earlier delivery of its order
	ReasonReply    = "reply_refused" // delivered, but its reply could not be stored
)
