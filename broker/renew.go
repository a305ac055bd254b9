package broker

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"bellhop/crypto/token"
	"bellhop/protocol"
)

// tokenOnlyGrace is how old a token may be that is renewed without a password.
const tokenOnlyGrace = 24 * time.Hour

// Renew exchanges a webhook token, expired or not, for a fresh one (protocol
// 1.5). password is the bearer the host sent, "" when none; it may be left out
// where the task has no password.
func (s *Sessions) Renew(ctx context.Context, webhookToken, password string) (*protocol.RenewResponse, error) {
	taskID, err := token.Inspect(webhookToken)
	if err != nil {
		return nil, tokenFault(err)
	}
	secret, err := s.Store.WebhookSecret(ctx, taskID)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return nil, errNotConfigured()
	}
	if err != nil {
		return nil, err
	}
	claims, err := token.VerifyAnyAge(webhookToken, []byte(secret.Reveal()), s.Now())
	if err != nil {
		return nil, tokenFault(err)
	}
	if err := s.mayRenew(ctx, claims, password); err != nil {
		return nil, err
	}
	hook, expires, err := s.webhook([]byte(secret.Reveal()), taskID, claims.TurnID)
	if err != nil {
		return nil, err
	}
	return &protocol.RenewResponse{WebhookURL: hook, ExpiresAt: expires.UTC()}, nil
}

func (s *Sessions) mayRenew(ctx context.Context, claims token.Claims, password string) error {
	var task *Task
	err := s.Store.Read(ctx, func(ctx context.Context) error {
		var err error
		task, err = s.Store.AnyTask(ctx, claims.TaskID)
		return err
	})
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return errNotConfigured()
	}
	if err != nil {
		return err
	}
	if task.DeletedAt != nil {
		return protocol.Errorf(protocol.CodeGone, "Task deleted")
	}
	passwords, err := s.passwords(ctx, task)
	if err != nil {
		return err
	}
	if len(passwords) == 0 {
		if s.Now().Sub(claims.IssuedAt) <= tokenOnlyGrace {
			return nil
		}
		return errToken()
	}
	right := 0
	for _, p := range passwords {
		right |= subtle.ConstantTimeCompare([]byte(p), []byte(password))
	}
	if right == 0 {
		return protocol.Errorf(protocol.CodeUnauthorized, "Wrong agent password")
	}
	return nil
}

func (s *Sessions) passwords(ctx context.Context, task *Task) ([]string, error) {
	now := s.Now()
	if task.HostID != "" {
		target, err := hostTarget(ctx, s.Store, task.HostID, now)
		return revealed(target.Passwords), err
	}
	passwords, err := s.Store.TaskPasswords(ctx, task.ID, now)
	return revealed(passwords), err
}

func errToken() error {
	return protocol.Errorf(protocol.CodeUnauthorized, "Invalid or expired token")
}

func tokenFault(err error) error {
	switch {
	case errors.Is(err, token.ErrFormat):
		return protocol.Errorf(protocol.CodeInvalid, "Invalid token format")
	case errors.Is(err, token.ErrPayload):
		return protocol.Errorf(protocol.CodeInvalid, "Invalid token payload")
	default:
		return errToken()
	}
}
