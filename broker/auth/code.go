package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"net/http"
	"strings"
	"time"

	"bellhop/broker"
	"bellhop/crypto/totp"
	"bellhop/protocol"
)

// codeAttempts limits codes of the app by account, from all addresses together: a guesser who knows the
// password could try a million of them from many addresses. Without the password no caller reaches this
// limit, so no other caller can lock the account. Recovery codes are too long to guess and not counted.
var codeAttempts = broker.AttemptLimit{Burst: 10, Every: 5 * time.Minute}

const (
	recoveryCodes = 10
	recoveryBytes = 10 // 16 letters and digits: a copy of the database does not reveal the code
	recoveryGroup = 4
)

// Names of the ways to sign in, for the audit log.
const (
	byTOTP     = "totp"
	byRecovery = "recovery-code"
)

// usableCode is a code that may be used. use succeeds once. For a code that was used meanwhile, and for a wrong
// recovery code, it returns an error for which isWrongCode is true.
type usableCode struct {
	name string
	use  func(ctx context.Context) error
}

// findCode checks a code of the app. A recovery code is checked at its use. For a wrong code of the app it
// returns an error for which isWrongCode is true. CodeTooManyRequests: there were too many.
func (s *Service) findCode(ctx context.Context, userID, code string) (*usableCode, error) {
	code = normalCode(code)
	if !totp.IsCode(code) {
		return &usableCode{byRecovery, func(ctx context.Context) error {
			return wrongIfConflict(s.store.UseRecoveryCode(ctx, userID, recoveryHash(userID, code)))
		}}, nil
	}
	wait, err := s.store.TakeAttempt(ctx, codeKey(userID), codeAttempts, s.now())
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		return nil, tooManyAttempts(wait)
	}
	f, err := s.store.SecondFactor(ctx, userID)
	if protocol.CodeOf(err) == protocol.CodeNotFound || err == nil && f.ConfirmedAt == nil {
		return nil, &wrongCode{err}
	}
	if err != nil {
		return nil, err
	}
	step, found, err := totp.Find(f.Secret, code, s.now(), f.LastStep)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, &wrongCode{}
	}
	return &usableCode{byTOTP, func(ctx context.Context) error {
		return wrongIfConflict(s.store.UseStep(ctx, userID, step))
	}}, nil
}

// signInWithCode completes the sign-in of a user whose password is right.
func (s *Service) signInWithCode(
	w http.ResponseWriter, r *http.Request, address string, user *broker.User, code string,
) (*broker.User, error) {
	ctx := r.Context()
	if strings.TrimSpace(code) == "" {
		return nil, s.askForCode(ctx, address, user.ID)
	}
	found, err := s.findCode(ctx, user.ID, code)
	if err == nil {
		err = s.startSession(ctx, w, r, address, user, func(ctx context.Context) (*broker.Act, error) {
			act := userAct(protocol.AuditSignIn, user.ID)
			act.Detail = map[string]string{"factor": found.name}
			return act, found.use(ctx)
		})
	}
	if isWrongCode(err) {
		return nil, s.refusedCode(ctx, address, user.ID, protocol.CodeSecondFactor)
	}
	if err != nil {
		return nil, err
	}
	s.forgetCodes(ctx, user.ID)
	s.forgetAttempts(ctx, address, user.Email)
	return user, nil
}

// askForCode adds the right password to the audit log and returns CodeSecondFactor.
func (s *Service) askForCode(ctx context.Context, address, userID string) error {
	err := s.record(asVisitor(ctx, address), func(context.Context) (*broker.Act, error) {
		return userAct(protocol.AuditSignInPassword, userID), nil
	})
	if err != nil {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeSecondFactor, Message: "This account needs a code of its second factor",
		Hint: "Send the code of the authenticator app, or a recovery code, as code",
	}
}

// refusedCode adds a wrong code to the audit log and returns its error.
func (s *Service) refusedCode(ctx context.Context, address, userID string, code protocol.Code) error {
	err := s.record(asVisitor(ctx, address), func(context.Context) (*broker.Act, error) {
		act := userAct(protocol.AuditSignInFailed, userID)
		act.Detail = map[string]string{"factor": "code"}
		return act, nil
	})
	if err != nil {
		return err
	}
	return &protocol.Error{
		Code: code, Message: "The code is wrong or was used already",
		Hint: "A code works once. The app shows another one every 30 seconds; the clocks must agree",
	}
}

// newRecoveryCodes replaces a user's recovery codes and returns the new ones.
func (s *Service) newRecoveryCodes(ctx context.Context, userID string) ([]string, error) {
	codes, hashes := make([]string, recoveryCodes), make([][]byte, recoveryCodes)
	for i := range codes {
		raw := make([]byte, recoveryBytes)
		_, _ = rand.Read(raw) // never fails, see crypto/rand
		code := strings.ToLower(base32.StdEncoding.EncodeToString(raw))
		hashes[i] = recoveryHash(userID, code)
		var groups []string
		for ; code != ""; code = code[recoveryGroup:] {
			groups = append(groups, code[:recoveryGroup])
		}
		codes[i] = strings.Join(groups, "-")
	}
	return codes, s.store.SetRecoveryCodes(ctx, userID, hashes)
}

// normalCode removes what people type or copy between the digits and letters.
func normalCode(code string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "\u00a0", "").Replace(strings.TrimSpace(code)))
}

func recoveryHash(userID, code string) []byte {
	hash := sha256.Sum256([]byte("bellhop recovery code\x00" + userID + "\x00" + code))
	return hash[:]
}

// codeKey returns a key that attemptKey never returns: the text of such a key begins with an address.
func codeKey(userID string) []byte {
	hash := sha256.Sum256([]byte("second factor\x00" + userID))
	return hash[:]
}

// forgetCodes lets a user who proved to have the second factor use further codes at once. A failure is only
// logged: the code was right.
func (s *Service) forgetCodes(ctx context.Context, userID string) {
	if err := s.store.ForgetAttempts(ctx, codeKey(userID)); err != nil {
		s.log.WarnContext(ctx, "the attempts with codes were not reset", "err", err)
	}
}

// wrongCode is a code that is wrong or was used.
type wrongCode struct{ cause error }

func (e *wrongCode) Error() string { return "wrong code" }
func (e *wrongCode) Unwrap() error { return e.cause }

func wrongIfConflict(err error) error {
	if protocol.CodeOf(err) == protocol.CodeConflict {
		return &wrongCode{err}
	}
	return err
}

func isWrongCode(err error) bool {
	var wrong *wrongCode
	return errors.As(err, &wrong)
}
