package auth

import (
	"context"
	"fmt"

	"github.com/alexedwards/argon2id"

	"bellhop/protocol"
)

// Limits of a password in bytes. The lower one is from NIST SP 800-63B; the upper
// one keeps a request from making the server hash megabytes.
const (
	minPassword = 8
	maxPassword = 1024
)

// argon2Params is the OWASP recommendation for argon2id with 19 MiB; the library's
// default needs 64 MiB per call.
func argon2Params() *argon2id.Params {
	return &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}
}

// HashPassword returns the PHC string of a new password. CodeInvalid when it
// is shorter than 8 or longer than 1024 bytes.
func (s *Service) HashPassword(ctx context.Context, password string) (string, error) {
	if err := checkLength(password); err != nil {
		return "", err
	}
	release, err := s.acquireHashing(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	hash, err := argon2id.CreateHash(password, argon2Params())
	if err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	return hash, nil
}

func checkLength(password string) error {
	switch {
	case len(password) < minPassword:
		return protocol.Errorf(protocol.CodeInvalid, "The password must have at least %d characters", minPassword)
	case len(password) > maxPassword:
		return protocol.Errorf(protocol.CodeInvalid, "The password is longer than %d bytes", maxPassword)
	}
	return nil
}

// checkPassword does the same work for an empty hash as for a real one, so that
// timing does not reveal which accounts exist.
func (s *Service) checkPassword(ctx context.Context, password, hash string) (bool, error) {
	if len(password) > maxPassword {
		return false, nil
	}
	release, err := s.acquireHashing(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	known := hash != ""
	if !known {
		hash = s.dummy()
	}
	match, err := argon2id.ComparePasswordAndHash(password, hash)
	if err != nil {
		return false, fmt.Errorf("compare password: %w", err)
	}
	return match && known, nil
}

// acquireHashing waits for a free slot, so that a burst of sign-ins takes longer
// but needs no more memory.
func (s *Service) acquireHashing(ctx context.Context) (release func(), err error) {
	select {
	case s.hashing <- struct{}{}:
		return func() { <-s.hashing }, nil
	case <-ctx.Done():
		return nil, &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "Too many sign-ins at once", RetryAfter: 1, Err: ctx.Err(),
		}
	}
}

func dummyHash() string {
	hash, err := argon2id.CreateHash("no account has this password", argon2Params())
	if err != nil { // only on a system without a source of randomness
		return ""
	}
	return hash
}
