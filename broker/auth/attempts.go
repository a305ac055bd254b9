package auth

import (
	"context"
	"crypto/sha256"
	"math"
	"net"
	"net/netip"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// Limits of sign-in attempts. The limit by account and address stops guessing of one account's password. It
// counts by both, so that guesses from one address never lock the account for its owner, who has another
// address. The limit by address alone stops guessing through a list of accounts. It has room for an office
// behind one address.
var (
	pairAttempts    = broker.AttemptLimit{Burst: 10, Every: 6 * time.Second}
	addressAttempts = broker.AttemptLimit{Burst: 60, Every: 2 * time.Second}
)

// AttemptStore counts attempts for all replicas of the broker.
type AttemptStore interface {
	// TakeAttempt counts an attempt of key, unless the limit is reached. Then it returns how long
	// to wait until the next attempt.
	TakeAttempt(ctx context.Context, key []byte, limit broker.AttemptLimit, now time.Time) (wait time.Duration, err error)
	// ForgetAttempts removes the attempts of key.
	ForgetAttempts(ctx context.Context, key []byte) error
}

// allowAttempt counts a sign-in attempt. More attempts than a limit allows are
// CodeTooManyRequests. email is "" for a link.
func (s *Service) allowAttempt(ctx context.Context, address, email string) error {
	wait, err := s.store.TakeAttempt(ctx, attemptKey(address, ""), addressAttempts, s.now())
	if err == nil && wait == 0 && email != "" {
		wait, err = s.store.TakeAttempt(ctx, attemptKey(address, email), pairAttempts, s.now())
	}
	if err != nil || wait == 0 {
		return err
	}
	return tooManyAttempts(wait)
}

func tooManyAttempts(wait time.Duration) error {
	return &protocol.Error{
		Code: protocol.CodeTooManyRequests, Message: "Too many sign-in attempts",
		Hint: "Wait a moment and try again", RetryAfter: int(math.Ceil(wait.Seconds())),
	}
}

// forgetAttempts lets a user who has signed in do so again at once. A failure is only logged: the
// sign-in has succeeded.
func (s *Service) forgetAttempts(ctx context.Context, address, email string) {
	if err := s.store.ForgetAttempts(ctx, attemptKey(address, email)); err != nil {
		s.log.WarnContext(ctx, "the sign-in attempts were not reset", "err", err)
	}
}

// attemptKey returns a hash, because the texts are chosen by the client and of any length, and
// because the table need not store who tried to sign in from where.
func attemptKey(address, email string) []byte {
	hash := sha256.Sum256([]byte(networkOf(address) + "\x00" + email))
	return hash[:]
}

// networkOf returns the address without port, of IPv6 the first 64 bits: a site has at least
// that many addresses of its own.
func networkOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if addr = addr.Unmap(); addr.Is4() {
		return addr.String()
	}
	network, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return network.String()
}
