package auth

import (
	"context"
	"time"

	"bellhop/crypto/token"
	"bellhop/protocol"
)

// linkLife is how long a sign-in link can be used.
const linkLife = 15 * time.Minute

// CreateLink makes a one-time sign-in link for a user; it is returned once and
// kept as a hash. A browser is sent to {publicURL}/#link=<link>: a fragment
// never reaches a log.
func (s *Service) CreateLink(ctx context.Context, userID string) (string, error) {
	plain, hash := token.NewOpaque("")
	if err := s.links.CreateLink(ctx, hash, userID, s.now().Add(linkLife).UTC()); err != nil {
		return "", err
	}
	return plain, nil
}

func (s *Service) useLink(ctx context.Context, link string) (userID string, err error) {
	userID, err = s.links.UseLink(ctx, token.Hash(link), s.now().UTC())
	switch protocol.CodeOf(err) {
	case protocol.CodeNotFound, protocol.CodeUnauthorized, protocol.CodeExpired, protocol.CodeGone, protocol.CodeConflict:
		return "", &protocol.Error{
			Code: protocol.CodeUnauthorized, Message: "The sign-in link is used or expired",
			Hint: "Start bellhop dev again for a new one, or sign in with email and password", Err: err,
		}
	}
	return userID, err
}
