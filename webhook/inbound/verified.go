package inbound

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"time"

	"bellhop/crypto/token"
)

// maxVerified bounds the cache; when it is full, it is emptied.
const maxVerified = 20_000

// verifiedTokens caches tokens that were verified: a host sends the same one for ten minutes,
// and verifying costs more than everything else about a token. An entry is valid only for
// exactly that text and that secret.
type verifiedTokens struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte]verifiedToken
}

type verifiedToken struct {
	secret []byte
	claims token.Claims
}

// find returns the entry of a token that was verified before.
func (v *verifiedTokens) find(presented string) (verifiedToken, bool) {
	key := sha256.Sum256([]byte(presented))
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.entries[key]
	return known, ok
}

func (v *verifiedTokens) add(presented string, secret []byte, claims token.Claims) {
	key := sha256.Sum256([]byte(presented))
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.entries == nil || len(v.entries) >= maxVerified {
		v.entries = map[[sha256.Size]byte]verifiedToken{}
	}
	v.entries[key] = verifiedToken{secret: secret, claims: claims}
}

// stillValid reports whether verifying the token again would succeed.
func (t *verifiedToken) stillValid(secret []byte, now time.Time) bool {
	return now.Before(t.claims.ExpiresAt) && !t.claims.IssuedAt.After(now.Add(token.Skew)) && bytes.Equal(t.secret, secret)
}
