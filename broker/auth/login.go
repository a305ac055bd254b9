package auth

import (
	"context"
	"net/http"
	"strings"

	"bellhop/broker"
	"bellhop/protocol"
)

// SignIn checks an account's password and starts a session on w. address is the
// client's address according to the operator's proxy settings. An unknown account
// and a wrong password yield the same CodeUnauthorized after the same work. More than 10 attempts
// a minute from one address for one account are CodeTooManyRequests; success resets them.
func (s *Service) SignIn(w http.ResponseWriter, r *http.Request, address, email, password string) (*broker.User, error) {
	ctx := r.Context()
	if err := s.sameSite(r); err != nil {
		return nil, err
	}
	if email == "" || password == "" {
		return nil, protocol.Errorf(protocol.CodeInvalid, "email and password are required")
	}
	email = normalEmail(email)
	if err := s.allowAttempt(ctx, address, email); err != nil {
		return nil, err
	}
	user, err := s.users.UserByEmail(ctx, email)
	switch protocol.CodeOf(err) {
	case "":
	case protocol.CodeNotFound:
		user = &broker.User{}
	default:
		return nil, err
	}
	match, err := s.checkPassword(ctx, password, user.PasswordHash)
	if err != nil {
		return nil, err
	}
	if !match {
		return nil, protocol.Errorf(protocol.CodeUnauthorized, "Wrong email or password")
	}
	s.forgetAttempts(ctx, address, email)
	return user, s.startSession(ctx, w, r, user.ID)
}

// SignInByLink redeems a one-time sign-in link. A used, expired or unknown link is
// CodeUnauthorized.
func (s *Service) SignInByLink(w http.ResponseWriter, r *http.Request, address, link string) (*broker.User, error) {
	ctx := r.Context()
	if err := s.sameSite(r); err != nil {
		return nil, err
	}
	if err := s.allowAttempt(ctx, address, ""); err != nil {
		return nil, err
	}
	userID, err := s.useLink(ctx, link)
	if err != nil {
		return nil, err
	}
	user, err := s.users.User(ctx, userID)
	if err != nil {
		return nil, unauthorizedIfMissing(err)
	}
	return user, s.startSession(ctx, w, r, user.ID)
}

// SignOut ends the session of the request and removes its cookie. Signing out twice
// is no error.
func (s *Service) SignOut(w http.ResponseWriter, r *http.Request) error {
	if err := s.sameSite(r); err != nil {
		return err
	}
	return s.endSession(r.Context(), w, r)
}

// Me returns the user of the caller in ctx.
func (s *Service) Me(ctx context.Context) (*broker.User, error) {
	user, err := s.users.User(ctx, s.Caller(ctx).UserID)
	if err != nil {
		return nil, unauthorizedIfMissing(err)
	}
	return user, nil
}

// sameSite refuses requests that another site caused a browser to send.
func (s *Service) sameSite(r *http.Request) error {
	if err := s.crossSite.Check(r); err != nil {
		return &protocol.Error{
			Code: protocol.CodeForbidden, Message: "Cross-site request refused",
			Hint: "From another origin use an API token in the Authorization header", Err: err,
		}
	}
	return nil
}

func normalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }
