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

// presentedToken returns the token of the query or of Authorization. If both are present, they
// must be equal.
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

// renewedToken returns the token of a renewal: of its header or of the query. If both are present,
// they must be equal.
func renewedToken(r *http.Request) (string, error) {
	inQuery, err := queryToken(r)
	if err != nil {
		return "", err
	}
	headers := r.Header.Values(protocol.HeaderWebhookToken)
	switch {
	case len(headers) == 0 && inQuery == "":
		return "", errMissing()
	case len(headers) == 0:
		return inQuery, nil
	case len(headers) > 1 || inQuery != "" && inQuery != headers[0]:
		return "", &protocol.Error{Code: protocol.CodeInvalid, Message: messageFormat, Hint: "Send one webhook token"}
	}
	return headers[0], nil
}

func queryToken(r *http.Request) (string, error) {
	// A query that does not parse completely may hide a second token.
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

// bearer returns the bearer token; "" if Authorization is absent or has another scheme.
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

// tokenError translates an error of crypto/token by the table of protocol 1.4.
func tokenError(err error) error {
	response := &protocol.Error{Code: protocol.CodeUnauthorized, Message: messageInvalid, Err: err}
	switch {
	case errors.Is(err, token.ErrFormat):
		response.Code, response.Message = protocol.CodeInvalid, messageFormat
	case errors.Is(err, token.ErrPayload):
		response.Code, response.Message = protocol.CodeInvalid, "Invalid token payload"
	case errors.Is(err, token.ErrExpired):
		response.Code = protocol.CodeTokenExpired
		response.Hint = "Renew it at /api/agent/webhook/renew"
	case errors.Is(err, token.ErrSecret):
		response.Code, response.Message = protocol.CodeInternal, "Internal error"
	}
	return response
}
