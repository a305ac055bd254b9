package auth

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/protocol"
)

type callerKey struct{}

// Middleware admits only authenticated callers and puts the Caller into the
// context. Other requests get CodeUnauthorized; a cross-site request with a cookie
// and an unsafe method gets CodeForbidden.
func (s *Service) Middleware(next echo.HandlerFunc) echo.HandlerFunc {
	return admit(next, s.Authenticate)
}

// AgentMiddleware is Middleware for the routes that agent tokens may use as well.
func (s *Service) AgentMiddleware(next echo.HandlerFunc) echo.HandlerFunc {
	return admit(next, s.authenticate)
}

func admit(next echo.HandlerFunc, authenticate func(*http.Request) (broker.Caller, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		caller, err := authenticate(r)
		if err != nil {
			return err
		}
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
		return next(c)
	}
}

// Caller returns the caller that Middleware admitted. On routes without Middleware
// it returns the zero Caller, which owns no row.
func (s *Service) Caller(ctx context.Context) broker.Caller {
	caller, _ := ctx.Value(callerKey{}).(broker.Caller)
	return caller
}

// Authenticate checks the credentials of a request; an agent token is
// CodeForbidden. Streams call it repeatedly, to notice a revocation.
func (s *Service) Authenticate(r *http.Request) (broker.Caller, error) {
	caller, err := s.authenticate(r)
	if err == nil && caller.AgentIdentifier != "" {
		return broker.Caller{}, &protocol.Error{
			Code: protocol.CodeForbidden, Message: "This token reaches only notebooks and /mcp",
			Hint: "Use a token of kind user here",
		}
	}
	return caller, err
}

func (s *Service) authenticate(r *http.Request) (broker.Caller, error) {
	ctx := r.Context()
	userID, agent, err := s.credentials(ctx, r)
	if err != nil {
		return broker.Caller{}, err
	}
	user, err := s.users.User(ctx, userID)
	if err != nil {
		return broker.Caller{}, unauthorizedIfMissing(err)
	}
	if agent != "" { // an agent token never inherits the admin flag of its user
		return broker.Caller{UserID: user.ID, AgentIdentifier: agent}, nil
	}
	return broker.Caller{UserID: user.ID, Admin: user.Admin}, nil
}

func (s *Service) credentials(ctx context.Context, r *http.Request) (userID, agent string, err error) {
	if headers := r.Header.Values("Authorization"); len(headers) > 0 {
		scheme, plain, _ := strings.Cut(headers[0], " ")
		if len(headers) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return "", "", unauthorized(nil)
		}
		return s.tokenUser(ctx, strings.TrimSpace(plain))
	}
	userID, err = s.sessionUser(ctx, r)
	if err != nil {
		return "", "", err
	}
	if userID == "" {
		return "", "", unauthorized(nil)
	}
	return userID, "", s.sameSite(r)
}

func unauthorized(cause error) error {
	return &protocol.Error{Code: protocol.CodeUnauthorized, Message: "Unauthorized", Err: cause}
}

// unauthorizedIfMissing leaves other errors unchanged: while the database is
// unavailable, a signed-in user must not be sent to the sign-in page.
func unauthorizedIfMissing(err error) error {
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return unauthorized(err)
	}
	return err
}
