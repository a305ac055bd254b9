package auth

import (
	"context"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/crypto/totp"
	"bellhop/protocol"
)

// FactorStore stores second factors. All methods join the transaction of their context.
type FactorStore interface {
	// SecondFactor returns CodeNotFound for a user without one.
	SecondFactor(ctx context.Context, userID string) (*broker.SecondFactor, error)
	// BeginSecondFactor stores a secret that is not confirmed, instead of another such one. CodeConflict:
	// the user has a confirmed one.
	BeginSecondFactor(ctx context.Context, f *broker.SecondFactor) error
	// ConfirmSecondFactor makes f count. CodeConflict: it is confirmed already, or was replaced meanwhile.
	ConfirmSecondFactor(ctx context.Context, f *broker.SecondFactor, step int64, at time.Time) error
	// UseStep succeeds for exactly one of several concurrent calls, and for no earlier step afterwards;
	// otherwise CodeConflict.
	UseStep(ctx context.Context, userID string, step int64) error
	// UseRecoveryCode succeeds for exactly one of several concurrent calls; otherwise CodeConflict.
	UseRecoveryCode(ctx context.Context, userID string, hash []byte) error
	// SetRecoveryCodes replaces all recovery codes of a user.
	SetRecoveryCodes(ctx context.Context, userID string, hashes [][]byte) error
	// DeleteSecondFactor reports whether there was one that counted.
	DeleteSecondFactor(ctx context.Context, userID string) (counted bool, err error)
}

// enrolmentLife is how long a new secret can be confirmed.
const enrolmentLife = time.Hour

// SecondFactor returns the second factor of the caller, CodeNotFound if they have none that counts.
func (s *Service) SecondFactor(ctx context.Context) (*broker.SecondFactor, error) {
	found, err := s.store.SecondFactor(ctx, s.Caller(ctx).UserID)
	if err == nil && found.ConfirmedAt == nil {
		err = errNoFactor()
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// BeginSecondFactor makes a secret for the caller, who proves to know the password. It counts once
// ConfirmSecondFactor has seen a code of it. CodeConflict: the caller has a second factor.
func (s *Service) BeginSecondFactor(ctx context.Context, password string) (*broker.Enrolment, error) {
	address := broker.ActorOf(ctx).Address
	user, err := s.reauthenticate(ctx, address, password)
	if err != nil {
		return nil, err
	}
	f := &broker.SecondFactor{UserID: user.ID, Secret: totp.Generate(), CreatedAt: s.now().UTC()}
	if err := s.store.BeginSecondFactor(ctx, f); err != nil {
		return nil, err
	}
	s.forgetAttempts(ctx, address, user.Email)
	return &broker.Enrolment{Secret: f.Secret, URI: seal.NewSecret(totp.URI(f.Secret, s.issuer, user.Email))}, nil
}

// ConfirmSecondFactor makes the caller's new secret count, if code is one of it, and returns recovery
// codes, which cannot be shown again. CodeForbidden: the code is wrong. CodeConflict: there is no secret to
// confirm, or it is older than an hour.
func (s *Service) ConfirmSecondFactor(ctx context.Context, code string) (recovery []string, err error) {
	user, err := s.sessionUser(ctx)
	if err != nil {
		return nil, err
	}
	address := broker.ActorOf(ctx).Address
	if err := s.allowAttempt(ctx, address, user.Email); err != nil {
		return nil, err
	}
	f, err := s.store.SecondFactor(ctx, user.ID)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		return nil, errNotBegun()
	case err != nil:
		return nil, err
	case f.ConfirmedAt != nil, s.now().Sub(f.CreatedAt) > enrolmentLife:
		return nil, errNotBegun()
	}
	step, found, err := totp.Find(f.Secret, normalCode(code), s.now(), f.LastStep)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, s.refusedCode(ctx, address, user.ID, protocol.CodeForbidden)
	}
	err = s.record(ctx, func(ctx context.Context) (_ *broker.Act, err error) {
		if err := s.store.ConfirmSecondFactor(ctx, f, step, s.now()); err != nil {
			return nil, err
		}
		recovery, err = s.newRecoveryCodes(ctx, user.ID)
		return userAct(protocol.AuditFactorEnabled, user.ID), err
	})
	if err != nil {
		return nil, err
	}
	s.forgetAttempts(ctx, address, user.Email)
	return recovery, nil
}

// RenewRecoveryCodes replaces the caller's recovery codes. It needs the password, and a code of the app or
// a recovery code. CodeForbidden: one of them is wrong. CodeNotFound: the caller has no second factor.
func (s *Service) RenewRecoveryCodes(ctx context.Context, password, code string) (recovery []string, err error) {
	err = s.changeFactor(ctx, password, code, func(ctx context.Context, userID string) (_ *broker.Act, err error) {
		recovery, err = s.newRecoveryCodes(ctx, userID)
		return userAct(protocol.AuditFactorCodes, userID), err
	})
	return recovery, err
}

// DisableSecondFactor removes the caller's second factor. It needs the password, and a code of the app or
// a recovery code. CodeForbidden: one of them is wrong. CodeNotFound: the caller has no second factor.
func (s *Service) DisableSecondFactor(ctx context.Context, password, code string) error {
	return s.changeFactor(ctx, password, code, func(ctx context.Context, userID string) (*broker.Act, error) {
		_, err := s.store.DeleteSecondFactor(ctx, userID)
		return userAct(protocol.AuditFactorDisabled, userID), err
	})
}

// changeFactor checks password and code of the caller. It runs change in the transaction that uses the code.
func (s *Service) changeFactor(
	ctx context.Context, password, code string,
	change func(ctx context.Context, userID string) (*broker.Act, error),
) error {
	address := broker.ActorOf(ctx).Address
	user, err := s.reauthenticate(ctx, address, password)
	if err != nil {
		return err
	}
	if !user.SecondFactor {
		return errNoFactor()
	}
	found, err := s.findCode(ctx, user.ID, code)
	if err == nil {
		err = s.record(ctx, func(ctx context.Context) (*broker.Act, error) {
			if err := found.use(ctx); err != nil {
				return nil, err
			}
			return change(ctx, user.ID)
		})
	}
	if isWrongCode(err) {
		return s.refusedCode(ctx, address, user.ID, protocol.CodeForbidden)
	}
	if err != nil {
		return err
	}
	s.forgetCodes(ctx, user.ID)
	s.forgetAttempts(ctx, address, user.Email)
	return nil
}

// ResetSecondFactor removes the second factor of a user who lost it. CodeForbidden: the caller is no
// administrator, or the user is the caller, who needs a code. CodeNotFound: the user has none.
func (s *Service) ResetSecondFactor(ctx context.Context, caller broker.Caller, userID string) error {
	if err := adminOnly(caller); err != nil {
		return err
	}
	if caller.UserID == userID {
		return &protocol.Error{
			Code: protocol.CodeForbidden, Message: "Administrators cannot reset their own second factor",
			Hint: "Turn it off in the settings with a code, or ask another administrator or the operator",
		}
	}
	return s.record(ctx, func(ctx context.Context) (*broker.Act, error) {
		if _, err := s.store.User(ctx, userID); err != nil {
			return nil, err
		}
		counted, err := s.store.DeleteSecondFactor(ctx, userID)
		if err == nil && !counted {
			err = errNoFactor()
		}
		return userAct(protocol.AuditFactorReset, userID), err
	})
}

func errNoFactor() error {
	return protocol.Errorf(protocol.CodeNotFound, "This user has no second factor")
}

func errNotBegun() error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "There is no new second factor to confirm",
		Hint: "Begin again with your password",
	}
}
