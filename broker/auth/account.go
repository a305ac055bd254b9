package auth

import (
	"context"
	"strings"

	"bellhop/broker"
	"bellhop/protocol"
)

// UserStore stores users.
type UserStore interface {
	// CreateUser returns CodeConflict when the e-mail address is taken.
	CreateUser(ctx context.Context, u *broker.User) error
	User(ctx context.Context, id string) (*broker.User, error)
	UserByEmail(ctx context.Context, email string) (*broker.User, error)
	UpdatePassword(ctx context.Context, id, hash string) error
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
	hash, err := s.HashPassword(ctx, password)
	if err != nil {
		return nil, err
	}
	user := &broker.User{
		ID: protocol.NewID(), Email: email, PasswordHash: hash, Admin: admin, CreatedAt: s.now().UTC(),
	}
	if err := s.users.CreateUser(ctx, user); err != nil {
		return nil, err
	}
	return user, nil
}

// SetPassword replaces a user's password.
func (s *Service) SetPassword(ctx context.Context, userID, password string) error {
	hash, err := s.HashPassword(ctx, password)
	if err != nil {
		return err
	}
	return s.users.UpdatePassword(ctx, userID, hash)
}
