package inbound

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"time"

	"bellhop/crypto/token"
)

// maxVerified bounds what is remembered; then it begins anew.
const maxVerified = 20_000

// verifiedTokens remembers tokens that were found right: a host sends the same one
// for ten minutes, and to check it again costs more than all else about the token.
// A token counts only as the exact text that was checked, and only with the secret
// it was checked with.
type verifiedTokens struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte]verifiedToken
}

type verifiedToken struct {
	secret []byte
	claims token.Claims
}

// find returns the token if it was found right before.
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

// holds reports whether a check would find the same again.
func (t *verifiedToken) holds(secret []byte, now time.Time) bool {
	return now.Before(t.claims.ExpiresAt) && bytes.Equal(t.secret, secret)
}
