package client

import (
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

// Error is a failed call. Origin is the server's scheme and host. Status is 0
// when there was no answer; Err is then a *protocol.Error of CodeUnavailable,
// else the one the server sent.
type Error struct {
	Origin string
	Status int
	Err    error

	foreign bool // answered, but not in the one error shape
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

// fromBasicHost tells a refusal of a host that may know tokens in the query
// only, as the original contract has them.
func fromBasicHost(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.foreign
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// noAnswer takes the cause out of a *url.Error, which prints the whole URL.
func noAnswer(u *url.URL, err error) error {
	var urlError *url.Error
	if errors.As(err, &urlError) {
		err = urlError.Err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &Error{Origin: origin(u), Err: &protocol.Error{Code: protocol.CodeUnavailable, Message: "the connection failed", Err: err}}
}

// refusal reads an answer that is none of the wanted kind.
func refusal(u *url.URL, status int, body []byte) error {
	var said protocol.ErrorBody
	foreign := json.Unmarshal(body, &said) != nil || said.Code == ""
	return &Error{Origin: origin(u), Status: status, Err: parseError(status, body), foreign: foreign}
}

func parseError(status int, body []byte) error {
	var said struct {
		protocol.ErrorBody
		Cursor *protocol.Cursor `json:"cursor"`
		Index  *int             `json:"index"`
	}
	if json.Unmarshal(body, &said) != nil || said.Error == "" {
		return &protocol.Error{Code: codeOf(status), Message: "status " + strconv.Itoa(status)}
	}
	if said.Code == "" {
		said.Code = codeOf(status)
	}
	return &protocol.Error{
		Code: said.Code, Message: said.Error, Hint: said.Hint,
		Cursor: said.Cursor, Index: said.Index, Fields: otherFields(body),
	}
}

// otherFields are what an answer carries beside the one error shape.
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

// codeOf is for answers that name no code: those of a proxy on the way.
func codeOf(status int) protocol.Code {
	switch status {
	case http.StatusUnauthorized:
		return protocol.CodeUnauthorized
	case http.StatusForbidden:
		return protocol.CodeForbidden
	case http.StatusNotFound:
		return protocol.CodeNotFound
	case http.StatusGone:
		return protocol.CodeGone
	case http.StatusConflict:
		return protocol.CodeConflict
	case http.StatusRequestEntityTooLarge:
		return protocol.CodeTooLarge
	case http.StatusTooManyRequests:
		return protocol.CodeTooManyRequests
	case http.StatusBadGateway:
		return protocol.CodeBadGateway
	}
	if status >= http.StatusInternalServerError {
		return protocol.CodeUnavailable
	}
	return protocol.CodeInvalid
}

// followError turns the end of a followed stream into an *Error.
func followError(ctx context.Context, u *url.URL, err error) error {
	var status *sse.StatusError
	switch {
	case err == nil, ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &status):
		return refusal(u, status.Status, status.Body)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &Error{Origin: origin(u), Err: &protocol.Error{Code: protocol.CodeUnavailable, Message: "the stream broke off", Err: err}}
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	return noAnswer(u, err)
}
