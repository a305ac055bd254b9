package auth

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/crypto/token"
	"bellhop/protocol"
)

// LinkStore stores one-time sign-in links by their hash.
type LinkStore interface {
	CreateLink(ctx context.Context, hash []byte, userID string, expires time.Time) error
	// UseLink succeeds for exactly one of several concurrent calls. Used, expired
	// and unknown links are CodeNotFound.
	UseLink(ctx context.Context, hash []byte, now time.Time) (userID string, err error)
}

// linkLife is how long a sign-in link can be used.
const linkLife = 15 * time.Minute

// CreateLink creates a one-time sign-in link for a user and stores its hash. A
// browser opens {publicURL}/#link=<link>. Browsers do not send the fragment, so no
// log shows it.
func (s *Service) CreateLink(ctx context.Context, userID string) (string, error) {
	plain, hash := token.NewOpaque("")
	err := s.record(ctx, func(ctx context.Context) (*broker.Act, error) {
		return userAct(protocol.AuditSignInLink, userID), s.store.CreateLink(ctx, hash, userID, s.now().Add(linkLife).UTC())
	})
	if err != nil {
		return "", err
	}
	return plain, nil
}

func (s *Service) useLink(ctx context.Context, link string) (userID string, err error) {
	userID, err = s.store.UseLink(ctx, token.Hash(link), s.now().UTC())
	switch protocol.CodeOf(err) {
	case protocol.CodeNotFound, protocol.CodeUnauthorized, protocol.CodeExpired, protocol.CodeGone, protocol.CodeConflict:
		return "", &protocol.Error{
			Code: protocol.CodeUnauthorized, Message: "The sign-in link is used or expired",
			Hint: "Start bellhop dev again for a new one, or sign in with email and password", Err: err,
		}
	}
	return userID, err
}
