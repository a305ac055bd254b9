package api

import (
	"context"
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

// requirePassword accepts requests with the agent password.
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

// requireSessionAccess accepts requests with the agent password or with a stream
// token of the session in the path.
func (a *API) requireSessionAccess(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if a.hasPassword(c.Request()) {
			return next(c)
		}
		if _, err := a.streamGrant(c); err != nil {
			return err
		}
		c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), byToken{}, true)))
		return next(c)
	}
}

// byToken is the key of a request's context that marks a stream token's holder.
type byToken struct{}

// streamGrant authorizes the request's stream token for the session in the path.
func (a *API) streamGrant(c echo.Context) (agenthost.Grant, error) {
	token, err := streamToken(c.Request())
	if err != nil {
		return agenthost.Grant{}, err
	}
	return a.Host.Authorize(c.Request().Context(), c.Param("id"), token)
}

// hasPassword compares hashes in constant time, so that the time reveals neither
// the length nor a matching prefix of the password.
func (a *API) hasPassword(r *http.Request) bool {
	if a.Password.IsZero() {
		return bearerCredential(r) == "" && r.URL.Query().Get("token") == "" && isLoopback(r)
	}
	got, want := sha256.Sum256([]byte(bearerCredential(r))), sha256.Sum256([]byte(a.Password.Reveal()))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// streamToken reads the token from the query, because EventSource cannot set
// headers, or from the Authorization header.
func streamToken(r *http.Request) (string, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // the error would quote the token
		return "", protocol.Errorf(protocol.CodeInvalid, "The query string is malformed")
	}
	given := query["token"]
	header := bearerCredential(r)
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

// bearerCredential returns the bearer token of the Authorization header, or "" if
// the header is missing or repeated.
func bearerCredential(r *http.Request) string {
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

func isLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	local, err := netip.ParseAddrPort(addr.String())
	return err == nil && local.Addr().Unmap().IsLoopback()
}
