package protocol

import (
	"errors"
	"fmt"
)

// Code is the kind of a failure. Clients branch on it, so a code is never
// renamed or reused. internal/httpapi holds the one table from Code to status.
type Code string

// Codes shared by broker and host.
const (
	CodeInvalid          Code = "invalid"            // 400: the request is wrong; repeating it is useless
	CodeUnauthorized     Code = "unauthorized"       // 401: nobody, or not who is needed
	CodeTokenExpired     Code = "token_expired"      // 401: signature right, time over; renew
	CodeForbidden        Code = "forbidden"          // 403: known caller, not allowed (cross-site, not an admin)
	CodeNotFound         Code = "not_found"          // 404: absent, or the caller may not know it exists
	CodeMethodNotAllowed Code = "method_not_allowed" // 405, with Allow
	CodeConflict         Code = "conflict"           // 409: same id, other content; or the state moved on
	CodeDiverged         Code = "diverged"           // 409: known (epoch,seq) with other content
	CodeGap              Code = "gap"                // 409: events are missing before this one; carries a cursor
	CodeFenced           Code = "fenced"             // 409: the event's epoch is over
	CodeBusy             Code = "busy"               // 409: a turn is open
	CodeNoTurn           Code = "no_turn"            // 409: nothing this token could start
	CodePromptMismatch   Code = "prompt_mismatch"    // 409: not the prompt that was checked in
	CodeForeignBroker    Code = "foreign_broker"     // 409: the session belongs to another broker
	CodeAnswered         Code = "answered"           // 409: the interaction was answered otherwise
	CodeDisconnected     Code = "disconnected"       // 409: the user disconnected this agent
	CodeGone             Code = "gone"               // 410: deleted
	CodeExpired          Code = "expired"            // 410: the interaction's or agent session's time is over
	CodeTooLarge         Code = "too_large"          // 413: over a cap
	CodeUnsupportedMedia Code = "unsupported_media"  // 415: not JSON, or encoded
	CodeTooManyRequests  Code = "too_many_requests"  // 429, with Retry-After
	CodeInternal         Code = "internal"           // 500: our fault; details are in the log only
	CodeBadGateway       Code = "bad_gateway"        // 502: the agent host failed
	CodeUnavailable      Code = "unavailable"        // 503, with Retry-After
	CodeStorageFull      Code = "storage_full"       // 507: no room; nothing acknowledged is lost
)

// Error has three readers: programs read Code, people and agents Message and
// Hint, operators Err. Err is logged and never sent.
//
// The optional members belong to single codes: Cursor to gap (and to fenced,
// diverged where known), Index to a batch (the first bad event), RetryAfter to
// too_many_requests and unavailable, Relayed to bad_gateway (the host's own
// code, sent instead of Code; the status stays Code's), Fields to whatever else the wire form of
// the answer carries beside error, code and hint (messageId and turnId of a
// failed check-in).
type Error struct {
	Code       Code
	Message    string
	Hint       string
	Err        error
	Cursor     *Cursor
	Index      *int
	RetryAfter int // seconds; 0 = not sent
	Relayed    Code
	Fields     map[string]any
}

// Error is Message, and Err behind it if there is one.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf builds an *Error. It returns error so that a nil *Error cannot escape.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of the first *Error in err's chain, "" for nil, and
// CodeInternal for any other error.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	default:
		return CodeInternal
	}
}

// ErrorBody is the one error shape of both servers.
type ErrorBody struct {
	Error string `json:"error"`
	Code  Code   `json:"code"`
	Hint  string `json:"hint,omitempty"`
}
