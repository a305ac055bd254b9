package inbound

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"bellhop/crypto/token"
	"bellhop/protocol"
)

const (
	messageFormat  = "Invalid token format"
	messageInvalid = "Invalid or expired token"
)

// presentedToken takes the token from the query or from Authorization; where
// it stands in both it must be the same.
func presentedToken(r *http.Request) (string, error) {
	inQuery, err := queryToken(r)
	if err != nil {
		return "", err
	}
	inHeader, err := bearer(r)
	switch {
	case err != nil:
		return "", err
	case inQuery == "" && inHeader == "":
		return "", errMissing()
	case inQuery == "":
		return inHeader, nil
	case inHeader != "" && inHeader != inQuery:
		return "", &protocol.Error{
			Code: protocol.CodeUnauthorized, Message: messageInvalid,
			Hint: "The token in the query and the one in Authorization differ; send one",
		}
	}
	return inQuery, nil
}

func queryToken(r *http.Request) (string, error) {
	// A query the parser refuses in part may hide a second token.
	query, err := url.ParseQuery(r.URL.RawQuery)
	values := query["token"]
	if err != nil || len(values) > 1 {
		return "", &protocol.Error{Code: protocol.CodeInvalid, Message: messageFormat, Hint: "Send one token parameter"}
	}
	if len(values) == 0 {
		return "", nil
	}
	return values[0], nil
}

// bearer is "" when Authorization is absent or of another scheme.
func bearer(r *http.Request) (string, error) {
	headers := r.Header.Values("Authorization")
	switch len(headers) {
	case 0:
		return "", nil
	case 1:
	default:
		return "", &protocol.Error{Code: protocol.CodeInvalid, Message: messageFormat, Hint: "Send one Authorization header"}
	}
	scheme, value, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil
	}
	return strings.TrimSpace(value), nil
}

func errMissing() error { return protocol.Errorf(protocol.CodeInvalid, "Missing token") }

// tokenError is the row of the 1.4 table for an error of crypto/token.
func tokenError(err error) error {
	answer := &protocol.Error{Code: protocol.CodeUnauthorized, Message: messageInvalid, Err: err}
	switch {
	case errors.Is(err, token.ErrFormat):
		answer.Code, answer.Message = protocol.CodeInvalid, messageFormat
	case errors.Is(err, token.ErrPayload):
		answer.Code, answer.Message = protocol.CodeInvalid, "Invalid token payload"
	case errors.Is(err, token.ErrExpired):
		answer.Code = protocol.CodeTokenExpired
		answer.Hint = "Renew it at /api/agent/webhook/renew"
	case errors.Is(err, token.ErrSecret):
		answer.Code, answer.Message = protocol.CodeInternal, "Internal error"
	}
	return answer
}
