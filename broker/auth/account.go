package auth

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// UserStore stores users.
type UserStore interface {
	// CreateUser returns CodeConflict when the e-mail address is taken.
	CreateUser(ctx context.Context, u *broker.User) error
	User(ctx context.Context, id string) (*broker.User, error)
	UserByEmail(ctx context.Context, email string) (*broker.User, error)
	// UpdatePassword also ends the user's sessions that began before at.
	UpdatePassword(ctx context.Context, id, hash string, at time.Time) error
	// Users returns the users whose e-mail addresses sort behind after, without deleted ones.
	Users(ctx context.Context, after string, limit int) ([]broker.User, error)
	// UpdateUser returns CodeConflict, and stores nothing, if no administrator who can sign in would
	// remain.
	UpdateUser(ctx context.Context, id string, change func(*broker.User) error) (*broker.User, error)
	// RevokeUser deletes the user's sessions, sign-in links and API tokens. Hosts then end the stream
	// tokens and streams of the user's tasks.
	RevokeUser(ctx context.Context, id string, now time.Time) error
}

const maxEmail = 254 // RFC 5321, without the angle brackets

// CreateUser creates an account. CodeInvalid for an invalid email or password,
// CodeConflict when the email is taken.
func (s *Service) CreateUser(ctx context.Context, email, password string, admin bool) (*broker.User, error) {
	email = normalEmail(email)
	name, domain, found := strings.Cut(email, "@")
	if !found || name == "" || domain == "" || len(email) > maxEmail || strings.ContainsAny(email, " \t\r\n\x00") {
		return nil, protocol.Errorf(protocol.CodeInvalid, "email must be an address like name@example.com")
	}
	hash, err := s.newPassword(ctx, email, password)
	if err != nil {
		return nil, err
	}
	user := &broker.User{
		ID: protocol.NewID(), Email: email, PasswordHash: hash, Admin: admin, CreatedAt: s.now().UTC(),
	}
	err = s.record(ctx, func(ctx context.Context) (*broker.Act, error) {
		act := userAct(protocol.AuditUserCreated, user.ID)
		act.Detail = map[string]string{"admin": strconv.FormatBool(admin)}
		return act, s.store.CreateUser(ctx, user)
	})
	switch {
	case protocol.CodeOf(err) == protocol.CodeConflict:
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("There is a user with the address %s already", email),
			Hint: "Give them another password with 'bellhop users password'",
		}
	case err != nil:
		return nil, err
	}
	return user, nil
}

// SetPassword replaces a user's password and ends their sessions. Their API tokens stay.
func (s *Service) SetPassword(ctx context.Context, userID, password string) error {
	user, err := s.store.User(ctx, userID)
	if err != nil {
		return err
	}
	hash, err := s.newPassword(ctx, user.Email, password)
	if err != nil {
		return err
	}
	return s.record(ctx, func(ctx context.Context) (*broker.Act, error) {
		return userAct(protocol.AuditUserPassword, userID), s.store.UpdatePassword(ctx, userID, hash, s.now())
	})
}

// newPassword checks a new password of an account and returns its hash.
func (s *Service) newPassword(ctx context.Context, email, password string) (string, error) {
	if err := checkLength(password); err != nil {
		return "", err
	}
	if err := checkGuessable(password, email); err != nil {
		return "", err
	}
	return s.HashPassword(ctx, password)
}

// ChangePassword replaces the password of the caller, who proves to know the current one. It ends
// the user's sessions and starts a new one on w. API tokens stay, and may not change a password:
// CodeForbidden, as for a wrong current password. Attempts are limited like those to sign in.
func (s *Service) ChangePassword(w http.ResponseWriter, r *http.Request, address, current, password string) error {
	ctx := r.Context()
	user, err := s.reauthenticate(ctx, address, current)
	if err != nil {
		return err
	}
	hash, err := s.newPassword(ctx, user.Email, password)
	if err != nil {
		return err
	}
	s.forgetAttempts(ctx, address, user.Email)
	at := s.now()
	user.SessionsAfter = &at
	return s.startSession(ctx, w, r, address, user, func(ctx context.Context) (*broker.Act, error) {
		return userAct(protocol.AuditUserPassword, user.ID), s.store.UpdatePassword(ctx, user.ID, hash, at)
	})
}

// reauthenticate returns the caller, who proves to know the password. CodeForbidden: it is wrong, or the
// caller used an API token. Attempts are limited like those to sign in, until forgetAttempts resets them.
func (s *Service) reauthenticate(ctx context.Context, address, password string) (*broker.User, error) {
	user, err := s.sessionUser(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.allowAttempt(ctx, address, user.Email); err != nil {
		return nil, err
	}
	match, err := s.checkPassword(ctx, password, user.PasswordHash)
	if err != nil {
		return nil, err
	}
	if !match {
		return nil, s.refused(ctx, address, user.ID, protocol.Errorf(protocol.CodeForbidden, "The current password is wrong"))
	}
	return user, nil
}

// sessionUser returns the caller, unless they use an API token.
func (s *Service) sessionUser(ctx context.Context) (*broker.User, error) {
	if broker.ActorOf(ctx).TokenID != "" {
		return nil, &protocol.Error{
			Code: protocol.CodeForbidden, Message: "An API token cannot change how its user signs in",
			Hint: "Sign in to the console",
		}
	}
	return s.Me(ctx)
}
