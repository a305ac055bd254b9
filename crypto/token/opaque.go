package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// NewOpaque returns a token of 256 random bits after prefix, which names its kind, and the hash
// to store instead.
func NewOpaque(prefix string) (plain string, hash []byte) {
	plain = prefix + base64.RawURLEncoding.EncodeToString(random())
	return plain, Hash(plain)
}

// Hash returns the key for looking up a presented token. Plain SHA-256 is enough for 256 random
// bits, and comparing hashes leaks nothing about the token.
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
