package auth

import (
	"cmp"
	"context"
	"errors"
	"math"
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
	return s.admit(next, s.authenticateUser)
}

// AgentMiddleware is Middleware for the routes that agent tokens may use as well.
func (s *Service) AgentMiddleware(next echo.HandlerFunc) echo.HandlerFunc {
	return s.admit(next, s.authenticate)
}

func (s *Service) admit(next echo.HandlerFunc, authenticate func(*http.Request) (*admitted, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		found, err := authenticate(r)
		if err != nil {
			return err
		}
		if err := errors.Join(found.allow(r.Method+" "+c.Path()), s.allowRequest(found.caller.UserID)); err != nil {
			return err
		}
		s.touch(r, c.RealIP(), &found.session)
		actor := broker.WithActor(r.Context(), protocol.AuditActor{
			Kind: protocol.AuditByUser, ID: found.caller.UserID, TokenID: found.tokenID, Address: c.RealIP(),
		})
		ctx := context.WithValue(actor, signInKey{}, found.session.signIn)
		ctx = broker.WithCredential(ctx, found.caller.UserID, cmp.Or(found.tokenID, found.session.signIn))
		c.SetRequest(r.WithContext(context.WithValue(ctx, callerKey{}, found.caller)))
		return next(c)
	}
}

// allowRequest counts a request of a user. CodeTooManyRequests: there were too many in the last minute.
func (s *Service) allowRequest(userID string) error {
	if s.requests == nil {
		return nil
	}
	ok, wait := s.requests.Allow(userID)
	if ok {
		return nil
	}
	return &protocol.Error{
		Code: protocol.CodeTooManyRequests, Message: "Too many requests of this user",
		Hint: "Send fewer requests a minute; a feed shows changes without asking", RetryAfter: int(math.Ceil(wait.Seconds())),
	}
}

// admitted is an authenticated caller, and the API token or session that it used.
type admitted struct {
	caller  broker.Caller
	tokenID string
	token   *broker.APIToken // nil: a session
	session session
}

type signInKey struct{}

// SignInOf returns the id of the session that Middleware admitted, "" for an API token.
func (s *Service) SignInOf(ctx context.Context) string {
	id, _ := ctx.Value(signInKey{}).(string)
	return id
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
	found, err := s.authenticateUser(r)
	if err != nil {
		return broker.Caller{}, err
	}
	return found.caller, nil
}

func (s *Service) authenticateUser(r *http.Request) (*admitted, error) {
	found, err := s.authenticate(r)
	if err == nil && found.caller.AgentIdentifier != "" {
		return nil, &protocol.Error{
			Code: protocol.CodeForbidden, Message: "This token reaches only notebooks and /mcp",
			Hint: "Use a token of kind user here",
		}
	}
	return found, err
}

func (s *Service) authenticate(r *http.Request) (*admitted, error) {
	ctx := r.Context()
	found, signIn, err := s.credentials(ctx, r)
	if err != nil {
		return nil, err
	}
	user, err := s.store.User(ctx, found.UserID)
	if err != nil {
		return nil, unauthorizedIfMissing(err)
	}
	ended := found.ID == "" && user.SessionsAfter != nil && signIn.began.Before(*user.SessionsAfter)
	if ended || !user.Active() {
		return nil, unauthorized(nil)
	}
	if found.AgentIdentifier != "" { // an agent token never inherits the admin flag of its user
		caller := broker.Caller{UserID: user.ID, AgentIdentifier: found.AgentIdentifier}
		return &admitted{caller: caller, tokenID: found.ID, token: found}, nil
	}
	in := &admitted{caller: broker.Caller{UserID: user.ID, Admin: user.Admin}, tokenID: found.ID, session: signIn}
	if found.ID != "" {
		in.token = found
	}
	return in, nil
}

// credentials returns the API token of a request. For a session it returns a token that has only
// its user, and the session.
func (s *Service) credentials(
	ctx context.Context, r *http.Request,
) (found *broker.APIToken, signIn session, err error) {
	if headers := r.Header.Values("Authorization"); len(headers) > 0 {
		scheme, plain, _ := strings.Cut(headers[0], " ")
		if len(headers) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return nil, signIn, unauthorized(nil)
		}
		found, err = s.token(ctx, strings.TrimSpace(plain))
		return found, signIn, err
	}
	if signIn, err = s.session(ctx, r); err != nil {
		return nil, signIn, err
	}
	if signIn.userID == "" {
		return nil, signIn, unauthorized(nil)
	}
	return &broker.APIToken{UserID: signIn.userID}, signIn, s.sameSite(r)
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
