package core

import (
	"net/http"
	"slices"
	"time"

	"bellhop/protocol"
)

// Refusal is a response that is no success, or not the broker's.
type Refusal struct {
	// Foreign: something in between answered, not the broker. Nothing else of the response counts but the status and
	// RetryAfter.
	Foreign bool `json:"foreign,omitempty"`

	Status     int              `json:"status"`
	Code       protocol.Code    `json:"code"`
	Message    string           `json:"message"`
	Cursor     *protocol.Cursor `json:"cursor,omitempty"`
	Index      *int             `json:"index,omitempty"` // of the event that it is about
	RetryAfter time.Duration    `json:"retryAfter"`

	Incarnation string     `json:"incarnation,omitempty"` // of the broker's database
	Time        *time.Time `json:"time,omitempty"`        // of the broker's clock
}

// asksForRetry reports a status that says nothing but "later". The host backs off in the same way whether the broker
// or a gateway sent it.
func (r *Refusal) asksForRetry() bool {
	return r.Status >= http.StatusInternalServerError || r.Status == http.StatusTooManyRequests
}

// basicRequestErrors are the messages of a basic broker's 400 about the token or the
// address of a request. Its answers have no codes, so only these sentences show that it is
// not about an event.
var basicRequestErrors = []string{
	"Missing token", "Invalid token format", "Invalid token payload", "Session ID mismatch",
}

// aboutEvent reports that a 400 refuses an event. Any other 400 refuses the request,
// and dropping an event would not help. A broker that named itself sends the event's
// index.
func (r *Refusal) aboutEvent(named bool) bool {
	if named {
		return r.Index != nil
	}
	return !slices.Contains(basicRequestErrors, r.Message)
}

// eventIndex returns the index of the refused event, or 0 if the response names none.
func (r *Refusal) eventIndex() int {
	if r.Index == nil {
		return 0
	}
	return *r.Index
}
