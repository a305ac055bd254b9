package inbound

import (
	"bytes"
	"crypto/sha256"
	"time"

	"bellhop/crypto/token"
	"bellhop/internal/generations"
)

// verifiedTokens caches tokens that were verified, by their hash: a host sends the same one for ten minutes,
// and verifying costs more than everything else about a token. An entry is valid only for
// exactly that text and that secret.
type verifiedTokens = generations.Cache[[sha256.Size]byte, verifiedToken]

type verifiedToken struct {
	secret []byte
	claims token.Claims
}

// stillValid reports whether verifying the token again would succeed.
func (t *verifiedToken) stillValid(secret []byte, now time.Time) bool {
	return now.Before(t.claims.ExpiresAt) && !t.claims.IssuedAt.After(now.Add(token.Skew)) && bytes.Equal(t.secret, secret)
}
