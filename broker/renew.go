package broker

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"bellhop/crypto/token"
	"bellhop/protocol"
)

// tokenOnlyGrace is the greatest age at which a token is renewed without a
// password.
const tokenOnlyGrace = 24 * time.Hour

// Renew exchanges a webhook token, expired or not, for a new one (protocol 1.5).
// password is the bearer token that the host sent, or "". A task without a password
// needs none.
func (s *Sessions) Renew(ctx context.Context, webhookToken, password string) (*protocol.RenewResponse, error) {
	taskID, err := token.Inspect(webhookToken)
	if err != nil {
		return nil, tokenError(err)
	}
	secret, err := s.Store.WebhookSecret(ctx, taskID)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil, errNotConfigured()
	}
	if err != nil {
		return nil, err
	}
	claims, err := token.VerifyAnyAge(webhookToken, []byte(secret.Reveal()))
	if err != nil {
		return nil, tokenError(err)
	}
	task, err := s.mayRenew(ctx, claims, password)
	if err != nil {
		return nil, err
	}
	hook, expires, err := s.webhook([]byte(secret.Reveal()), task, claims.TurnID)
	if err != nil {
		return nil, err
	}
	return &protocol.RenewResponse{WebhookURL: hook, ExpiresAt: expires.UTC(), Cursor: &task.Cursor}, nil
}

// mayRenew returns the task of a token that may be renewed.
func (s *Sessions) mayRenew(ctx context.Context, claims token.Claims, password string) (*Task, error) {
	task, err := s.Store.AnyTask(ctx, claims.TaskID)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil, errNotConfigured()
	}
	if err != nil {
		return nil, err
	}
	if task.DeletedAt != nil {
		return nil, protocol.Errorf(protocol.CodeGone, "Task deleted")
	}
	target, err := s.Targets.configured(ctx, task)
	if err != nil {
		return nil, err
	}
	if len(target.Passwords) == 0 {
		if s.Now().Sub(claims.IssuedAt) <= tokenOnlyGrace {
			return task, nil
		}
		return nil, errToken()
	}
	matches := 0
	for _, p := range target.Passwords {
		matches |= subtle.ConstantTimeCompare([]byte(p.Reveal()), []byte(password))
	}
	if matches == 0 {
		return nil, protocol.Errorf(protocol.CodeUnauthorized, "Wrong agent password")
	}
	return task, nil
}

func errToken() error {
	return protocol.Errorf(protocol.CodeUnauthorized, "Invalid or expired token")
}

func tokenError(err error) error {
	switch {
	case errors.Is(err, token.ErrFormat):
		return protocol.Errorf(protocol.CodeInvalid, "Invalid token format")
	case errors.Is(err, token.ErrPayload):
		return protocol.Errorf(protocol.CodeInvalid, "Invalid token payload")
	default:
		return errToken()
	}
}
