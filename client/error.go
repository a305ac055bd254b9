package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"bellhop/internal/sse"
	"bellhop/protocol"
)

// Error is a failed call. Origin is the server's scheme and host. Without a response, Status is
// 0 and Err is a *protocol.Error of CodeUnavailable; otherwise Err is the error that the server
// sent.
type Error struct {
	Origin string
	Status int
	Err    error
}

func (e *Error) Error() string { return e.Origin + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// StatusOf returns the status of the *Error in err's chain, 0 for none.
func StatusOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// noResponse drops the *url.Error around the cause, which would print the URL with its token.
func noResponse(u *url.URL, err error) error {
	var urlError *url.Error
	if errors.As(err, &urlError) {
		err = urlError.Err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	failure := &protocol.Error{Code: protocol.CodeUnavailable, Message: "the connection failed", Err: err}
	if IsForeign(err) {
		failure.Message = err.Error()
		failure.Hint = "A proxy or gateway on the way answered instead of the server"
	}
	return &Error{Origin: origin(u), Err: failure}
}

// responseError turns an error response into an *Error.
func responseError(u *url.URL, status int, body []byte) error {
	return &Error{Origin: origin(u), Status: status, Err: parseError(status, body)}
}

func parseError(status int, body []byte) error {
	var decoded struct {
		protocol.ErrorBody
		Cursor *protocol.Cursor `json:"cursor"`
		Index  *int             `json:"index"`
	}
	if json.Unmarshal(body, &decoded) != nil || decoded.Error == "" {
		return &protocol.Error{Code: codeOf(status), Message: "status " + strconv.Itoa(status)}
	}
	if decoded.Code == "" {
		decoded.Code = codeOf(status)
	}
	return &protocol.Error{
		Code: decoded.Code, Message: decoded.Error, Hint: decoded.Hint,
		Cursor: decoded.Cursor, Index: decoded.Index, Fields: otherFields(body),
	}
}

// otherFields returns the members of an error response beyond the standard ones.
func otherFields(body []byte) map[string]any {
	var all map[string]any
	if json.Unmarshal(body, &all) != nil {
		return nil
	}
	for _, name := range []string{"error", "code", "hint", "cursor", "index"} {
		delete(all, name)
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// codeOf is for responses without a code, such as those of a proxy.
func codeOf(status int) protocol.Code {
	otherwise := protocol.CodeInvalid
	if status >= http.StatusInternalServerError {
		otherwise = protocol.CodeUnavailable
	}
	return cmp.Or(protocol.CodeOfStatus(status), otherwise)
}

// followError turns the end of a followed stream into an *Error.
func followError(ctx context.Context, u *url.URL, err error) error {
	var status *sse.StatusError
	switch {
	case err == nil, ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &status):
		return responseError(u, status.Status, status.Body)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &Error{
			Origin: origin(u), Err: &protocol.Error{Code: protocol.CodeUnavailable, Message: "the stream broke off", Err: err},
		}
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	return noResponse(u, err)
}
