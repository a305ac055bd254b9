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

// Middleware lets only known callers pass and puts the Caller into the context.
// Others get CodeUnauthorized; a cross-site request with a cookie and an unsafe
// method gets CodeForbidden.
func (s *Service) Middleware(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		caller, err := s.Authenticate(r)
		if err != nil {
			return err
		}
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
		return next(c)
	}
}

// Caller is who Middleware let pass; the zero Caller behind any other route,
// whom no row belongs to.
func (s *Service) Caller(ctx context.Context) broker.Caller {
	caller, _ := ctx.Value(callerKey{}).(broker.Caller)
	return caller
}

// Authenticate judges the credentials of a request. Long answers call it again
// to learn of a revocation.
func (s *Service) Authenticate(r *http.Request) (broker.Caller, error) {
	ctx := r.Context()
	userID, err := s.credentials(ctx, r)
	if err != nil {
		return broker.Caller{}, err
	}
	user, err := s.users.User(ctx, userID)
	if err != nil {
		return broker.Caller{}, unauthorizedIfMissing(err)
	}
	return broker.Caller{UserID: user.ID, Admin: user.Admin}, nil
}

func (s *Service) credentials(ctx context.Context, r *http.Request) (userID string, err error) {
	if headers := r.Header.Values("Authorization"); len(headers) > 0 {
		scheme, plain, _ := strings.Cut(headers[0], " ")
		if len(headers) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return "", unauthorized(nil)
		}
		return s.tokenUser(ctx, strings.TrimSpace(plain))
	}
	userID, err = s.sessionUser(ctx, r)
	if err != nil {
		return "", err
	}
	if userID == "" {
		return "", unauthorized(nil)
	}
	return userID, s.sameSite(r)
}

func unauthorized(cause error) error {
	return &protocol.Error{Code: protocol.CodeUnauthorized, Message: "Unauthorized", Err: cause}
}

// unauthorizedIfMissing keeps other failures (the database is away) apart: a
// signed-in user must not be sent to the sign-in page by an outage.
func unauthorizedIfMissing(err error) error {
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return unauthorized(err)
	}
	return err
}
