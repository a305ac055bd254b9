package access

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"bellhop/protocol"
)

// Keys are the keys that a broker sends with a request; "" for none.
type Keys struct {
	Session string // of the session
	Owner   string // of the session's user: it opens the workspaces that the user's sessions create
}

// Check checks the form of the keys. CodeInvalid: a key is too short or too long.
func (k Keys) Check() error {
	return errors.Join(checkForm(protocol.HeaderSessionKey, k.Session), checkForm(protocol.HeaderOwnerKey, k.Owner))
}

// Lengths of a key. Brokers send 256 bits as text.
const (
	minKey = 32
	maxKey = 256
)

// checkForm checks the length of a key. "" is no key, and accepted.
func checkForm(header, key string) error {
	if key == "" || len(key) >= minKey && len(key) <= maxKey {
		return nil
	}
	return protocol.Errorf(protocol.CodeInvalid, "%s must have %d to %d characters", header, minKey, maxKey)
}

// KeyHash returns the hash of a key, as the journal stores it; "" for none.
func KeyHash(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
