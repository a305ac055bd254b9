package protocol

import (
	"errors"
	"fmt"
)

// Code is the kind of a failure. Clients branch on it, so a code is never renamed
// or reused. The table from Code to status is in internal/httpapi.
type Code string

// Codes shared by broker and host.
const (
	CodeInvalid          Code = "invalid"            // 400: the request is wrong; repeating it is useless
	CodeUnauthorized     Code = "unauthorized"       // 401: no caller, or not one that may do this
	CodeTokenExpired     Code = "token_expired"      // 401: the signature is right, the token has expired; renew it
	CodeSignatureMissing Code = "signature_missing"  // 401: the session's host signs its posts, and this one is not signed
	CodeSignatureInvalid Code = "signature_invalid"  // 401: the body was changed, or signed with another agent password
	CodeSignatureTime    Code = "signature_time"     // 401: signed too early or too late; carries the broker's time
	CodeSecondFactor     Code = "second_factor"      // 401: the code of the second factor is missing or wrong
	CodeForbidden        Code = "forbidden"          // 403: known caller, not allowed (cross-site, not an admin)
	CodeQuota            Code = "quota_exceeded"     // 403: the user has as much as they may have
	CodeSessionKey       Code = "session_key"        // 403: the session needs the key of the broker that opened it
	CodeNotFound         Code = "not_found"          // 404: absent, or the caller may not know it exists
	CodeMethodNotAllowed Code = "method_not_allowed" // 405, with Allow
	CodeConflict         Code = "conflict"           // 409: same id, other content; or the state moved on
	CodeDiverged         Code = "diverged"           // 409: known (epoch,seq) with other content
	CodeGap              Code = "gap"                // 409: events are missing before this one; carries a cursor
	CodeFenced           Code = "fenced"             // 409: the event's epoch is over
	CodeUnverified       Code = "unverified"         // 409: the task's host does not confirm the event's epoch
	CodeBusy             Code = "busy"               // 409: a turn is open
	CodeAttached         Code = "attached"           // 409: a terminal client works in the session; force takes over
	CodeNoWorkspace      Code = "no_workspace"       // 409: the session's workspace does not exist, or is another user's
	CodeNoBranch         Code = "no_branch"          // 409: the project has no such branch for the session to start from
	CodeNothingToCommit  Code = "nothing_to_commit"  // 409: the workspace has no change since its last commit
	CodeUnmerged         Code = "unmerged"           // 409: a merge or rebase of the workspace is not finished
	CodeNoRemote         Code = "no_remote"          // 409: the session's project has no remote to push to
	CodeDivergedBranch   Code = "diverged_branch"    // 409: the remote's branch has commits that the workspace's has not
	CodePushRejected     Code = "push_rejected"      // 409: the remote refused the push, such as one to a protected branch
	CodeNoTurn           Code = "no_turn"            // 409: this token cannot start a turn
	CodePromptMismatch   Code = "prompt_mismatch"    // 409: the prompt differs from the checked-in message
	CodeForeignBroker    Code = "foreign_broker"     // 409: the session belongs to another broker
	CodeAnswered         Code = "answered"           // 409: the interaction has another answer
	CodeDisconnected     Code = "disconnected"       // 409: the user disconnected this agent
	CodeGone             Code = "gone"               // 410: deleted
	CodeExpired          Code = "expired"            // 410: the interaction or agent session has expired
	CodeTooLarge         Code = "too_large"          // 413: over a limit
	CodeUnsupportedMedia Code = "unsupported_media"  // 415: not JSON, or encoded
	CodeTooManyRequests  Code = "too_many_requests"  // 429, with Retry-After
	CodeInternal         Code = "internal"           // 500: a bug or an outage of this server; details are only in the log
	CodeBadGateway       Code = "bad_gateway"        // 502: the agent host failed
	CodeRemoteFailed     Code = "remote_failed"      // 502: a remote or a forge failed, or refused the host
	CodeUnavailable      Code = "unavailable"        // 503, with Retry-After
	CodeTwoCopies        Code = "two_copies"         // 503: another copy of the host serves at its address; nothing is decided
	CodeStorageFull      Code = "storage_full"       // 507: the disk is full; acknowledged data is not lost
)

// Error is the error of all use cases. Programs read Code, users and agents read
// Message and Hint, operators read Err in the log. Err is never sent.
//
// The optional members belong to single codes: Cursor to gap (and to fenced and
// diverged if known), Index to a batch (the first invalid event), RetryAfter to
// too_many_requests and unavailable, Relayed to bad_gateway (the host's own code,
// sent instead of Code; the status is still that of Code). Fields holds further
// members of the response beside error, code and hint (messageId and turnId of a
// failed check-in).
type Error struct {
	Code       Code
	Message    string
	Hint       string
	Err        error
	Cursor     *Cursor
	Index      *int
	RetryAfter int // seconds; 0 means none
	Relayed    Code
	Fields     map[string]any
}

// Error returns Message, followed by Err if there is one.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf builds an *Error. It returns error, because a nil *Error would be a
// non-nil error.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

var codeOfStatus = map[int]Code{
	401: CodeUnauthorized, 403: CodeForbidden, 404: CodeNotFound, 405: CodeMethodNotAllowed,
	409: CodeConflict, 410: CodeGone,
	413: CodeTooLarge, 415: CodeUnsupportedMedia, 429: CodeTooManyRequests, 502: CodeBadGateway, 503: CodeUnavailable,
}

// CodeOfStatus returns the code for an HTTP status that came without one, such as a
// proxy's; "" if the status says no more than its class.
func CodeOfStatus(status int) Code { return codeOfStatus[status] }

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
