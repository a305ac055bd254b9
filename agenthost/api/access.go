package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"bellhop/agenthost"
	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// requirePassword accepts requests with the agent password.
func (a *API) requirePassword(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !a.hasPassword(c.Request()) {
			return a.wrongPassword(c, &protocol.Error{
				Code: protocol.CodeUnauthorized, Message: "Unauthorized",
				Hint: "Send the agent password of this host as Authorization: Bearer",
			})
		}
		if err := a.checkBroker(c); err != nil {
			return err
		}
		return next(c)
	}
}

// checkBroker refuses acts of a broker on a copy of the database whose broker the host obeys. POST /reconcile, which an
// operator may force, checks that by itself.
func (a *API) checkBroker(c echo.Context) error {
	r := c.Request()
	life := protocol.ParseLife(onlyHeader(r, protocol.HeaderLife))
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return nil
	case c.Path() == "/reconcile":
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), byLife{}, life)))
		return nil
	}
	return a.Host.CheckBroker(r.Context(), life, c.Param("id"), false)
}

// byLife is the key of a request's context that has the life of the broker's database.
type byLife struct{}

// requireSessionKey accepts requests with the agent password and the key that is bound to
// the session in the path, if there is one.
func (a *API) requireSessionKey(next echo.HandlerFunc) echo.HandlerFunc {
	return a.requirePassword(func(c echo.Context) error {
		if err := a.checkKey(c); err != nil {
			return err
		}
		return next(c)
	})
}

// requireSessionAccess accepts what requireSessionKey does, and stream tokens of the session
// in the path.
func (a *API) requireSessionAccess(next echo.HandlerFunc) echo.HandlerFunc {
	byKey := a.requireSessionKey(next)
	return func(c echo.Context) error {
		if a.hasPassword(c.Request()) {
			return byKey(c)
		}
		if _, err := a.streamGrant(c); err != nil {
			return a.wrongPassword(c, err)
		}
		c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), byToken{}, true)))
		return next(c)
	}
}

// requireOperator accepts requests with the agent password and the operator's key.
func (a *API) requireOperator(next echo.HandlerFunc) echo.HandlerFunc {
	return a.requirePassword(func(c echo.Context) error {
		if !a.isOperator(c.Request()) {
			return &protocol.Error{
				Code: protocol.CodeSessionKey, Message: "This needs the operator's key of the host",
				Hint: "It is the file operator-key in the host's data directory",
			}
		}
		return next(c)
	})
}

// checkKey returns CodeSessionKey unless the request has the key of the session in the
// path or the operator's. A session without a key needs none.
func (a *API) checkKey(c echo.Context) error {
	if a.isOperator(c.Request()) {
		return nil
	}
	return a.Host.CheckKey(c.Param("id"), sessionKey(c.Request()))
}

// sessionKey is the key in the request's header, "" if it is missing or repeated.
func sessionKey(r *http.Request) string { return onlyHeader(r, protocol.HeaderSessionKey) }

// onlyHeader is the value of a request's header, "" if it is missing or repeated.
func onlyHeader(r *http.Request, name string) string {
	values := r.Header.Values(name)
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

func (a *API) isOperator(r *http.Request) bool {
	return !a.OperatorKey.IsZero() && equal(sessionKey(r), a.OperatorKey)
}

// byOperator is the key of a request's context that marks the holder of the operator's key.
type byOperator struct{}

// noteOperator marks requests that have the operator's key.
func (a *API) noteOperator(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), byOperator{}, a.isOperator(r))))
		return next(c)
	}
}

// Limits of wrong passwords from one address. The right one is never counted or delayed, so
// that a sender at the address of a broker cannot lock it out.
const (
	wrongPerSecond = 0.5
	wrongBurst     = 20
)

// wrongPassword returns err, or CodeTooManyRequests when the sender's address sent too many
// wrong passwords. Requests without one, and stream tokens, are not counted.
func (a *API) wrongPassword(c echo.Context, err error) error {
	credential := bearerCredential(c.Request())
	if credential == "" || strings.HasPrefix(credential, agenthost.StreamTokenPrefix) ||
		protocol.CodeOf(err) != protocol.CodeUnauthorized {
		return err
	}
	ok, wait := a.wrong.Allow(c.RealIP())
	if ok {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeTooManyRequests, Message: "Too many wrong passwords",
		Hint:       "Wait before the next attempt. The right password is accepted at once.",
		RetryAfter: int(math.Ceil(wait.Seconds())),
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

// openGrant is streamGrant for a stream: the context that it returns is ctx until the credential ends
// that the token was issued to. The caller must call leave.
func (a *API) openGrant(
	ctx context.Context, c echo.Context,
) (g agenthost.Grant, held context.Context, leave func(), err error) {
	token, err := streamToken(c.Request())
	if err != nil {
		return g, nil, nil, err
	}
	return a.Host.AuthorizeStream(ctx, c.Param("id"), token)
}

// hasPassword reports whether the request has the agent password. A host without a password
// accepts requests without a credential that arrive on loopback.
func (a *API) hasPassword(r *http.Request) bool {
	if a.Password.IsZero() {
		return bearerCredential(r) == "" && r.URL.Query().Get("token") == "" && isLoopback(r)
	}
	return equal(bearerCredential(r), a.Password)
}

// equal compares hashes in constant time, so that the time reveals neither the length nor a
// matching prefix of the secret.
func equal(given string, secret seal.Secret) bool {
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret.Reveal()))
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
