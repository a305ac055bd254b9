package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// requirePassword lets the holder of the agent password pass.
func (a *API) requirePassword(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !a.hasPassword(c.Request()) {
			return &protocol.Error{
				Code: protocol.CodeUnauthorized, Message: "Unauthorized",
				Hint: "Send the agent password of this host as Authorization: Bearer",
			}
		}
		return next(c)
	}
}

// requireMember lets the holder of the agent password or of a stream token of
// the session in the path pass.
func (a *API) requireMember(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if a.hasPassword(c.Request()) {
			return next(c)
		}
		if _, err := a.grant(c); err != nil {
			return err
		}
		return next(c)
	}
}

// grant is what the request's stream token opens.
func (a *API) grant(c echo.Context) (agenthost.Grant, error) {
	token, err := streamToken(c.Request())
	if err != nil {
		return agenthost.Grant{}, err
	}
	return a.Host.Authorize(c.Request().Context(), c.Param("id"), token)
}

// hasPassword compares hashes: neither the length nor a matching beginning of
// the password shows in the time it takes.
func (a *API) hasPassword(r *http.Request) bool {
	if a.Password.IsZero() {
		return bearer(r) == "" && r.URL.Query().Get("token") == "" && onLoopback(r)
	}
	got, want := sha256.Sum256([]byte(bearer(r))), sha256.Sum256([]byte(a.Password.Reveal()))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// streamToken comes in the query, for EventSource, or as a bearer token.
func streamToken(r *http.Request) (string, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // the error would quote the token
		return "", protocol.Errorf(protocol.CodeInvalid, "The query string is malformed")
	}
	given := query["token"]
	header := bearer(r)
	switch {
	case len(given) > 1:
		return "", protocol.Errorf(protocol.CodeInvalid, "token is given more than once")
	case len(given) == 0 && header == "":
		return "", &protocol.Error{
			Code: protocol.CodeUnauthorized, Message: "Missing token",
			Hint: "Send the stream token of a check-in as ?token= or as Authorization: Bearer",
		}
	case len(given) == 0:
		return header, nil
	case header != "" && header != given[0]:
		return "", protocol.Errorf(protocol.CodeUnauthorized, "Two different tokens")
	default:
		return given[0], nil
	}
}

// bearer is the credential of the Authorization header; "" if there is none, or
// more than one.
func bearer(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, credential, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(credential)
}

func onLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	local, err := netip.ParseAddrPort(addr.String())
	return err == nil && local.Addr().Unmap().IsLoopback()
}
