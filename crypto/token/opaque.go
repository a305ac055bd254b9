package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// NewOpaque returns a token of 256 random bits behind prefix, which says what
// kind it is, and the hash to keep in its place.
func NewOpaque(prefix string) (plain string, hash []byte) {
	plain = prefix + base64.RawURLEncoding.EncodeToString(random())
	return plain, Hash(plain)
}

// Hash is how a presented token is looked up. A plain SHA-256 is enough for
// 256 random bits, and comparing hashes tells nothing about the token.
func Hash(plain string) []byte {
	sum := sha256.Sum256([]byte(plain))
	return sum[:]
}

// NewSecretHex returns 32 random bytes in hexadecimal, for signing webhooks.
// The 64 characters themselves are the key.
func NewSecretHex() string { return hex.EncodeToString(random()) }

func random() []byte {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return b
}
