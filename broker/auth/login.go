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
// a minute from one address for one account are CodeTooManyRequests; success resets them. An account
// with a second factor is CodeSecondFactor: it needs SignInWithCode.
func (s *Service) SignIn(
	w http.ResponseWriter, r *http.Request, address, email, password string,
) (*broker.User, error) {
	return s.SignInWithCode(w, r, address, email, password, "")
}

// SignInWithCode is SignIn with a code of the second factor, or a recovery code. It is looked at only if
// the password is right and the account has a second factor. A wrong code is CodeSecondFactor.
func (s *Service) SignInWithCode(
	w http.ResponseWriter, r *http.Request, address, email, password, code string,
) (*broker.User, error) {
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
	user, err := s.store.UserByEmail(ctx, email)
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
		return nil, s.refused(ctx, address, user.ID, protocol.Errorf(protocol.CodeUnauthorized, "Wrong email or password"))
	}
	if user.SecondFactor && user.Active() {
		return s.signInWithCode(w, r, address, user, code)
	}
	s.forgetAttempts(ctx, address, email)
	if !user.Active() {
		return nil, s.refused(ctx, address, user.ID, errDisabled())
	}
	return user, s.startSession(ctx, w, r, address, user, signedIn(user))
}

// SignInByLink redeems a one-time sign-in link. It needs no second factor: only a command that has the
// database and the keyset makes links. A used, expired or unknown link is
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
	if protocol.CodeOf(err) == protocol.CodeUnauthorized {
		return nil, s.refused(ctx, address, "", err)
	}
	if err != nil {
		return nil, err
	}
	user, err := s.store.User(ctx, userID)
	if err != nil {
		return nil, unauthorizedIfMissing(err)
	}
	if !user.Active() {
		return nil, s.refused(ctx, address, user.ID, errDisabled())
	}
	return user, s.startSession(ctx, w, r, address, user, signedIn(user))
}

func signedIn(user *broker.User) act {
	return func(context.Context) (*broker.Act, error) { return userAct(protocol.AuditSignIn, user.ID), nil }
}

// SignOut ends the session of the request and removes its cookie. Signing out twice
// is no error.
func (s *Service) SignOut(w http.ResponseWriter, r *http.Request, address string) error {
	if err := s.sameSite(r); err != nil {
		return err
	}
	return s.endSession(r.Context(), w, r, address)
}

// Me returns the user of the caller in ctx.
func (s *Service) Me(ctx context.Context) (*broker.User, error) {
	user, err := s.store.User(ctx, s.Caller(ctx).UserID)
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
