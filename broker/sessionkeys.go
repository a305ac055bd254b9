package broker

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"

	"bellhop/crypto/seal"
)

const (
	sessionKeyPrefix = "bhk_"
	sessionKeyInfo   = "bellhop session key 1"
	sessionKeyBytes  = 32

	ownerKeyPrefix = "bhu_"
	ownerKeyInfo   = "bellhop owner key 1"
)

// SessionKeys are the keys that this broker proves itself with to the hosts of its sessions.
type SessionKeys struct {
	root seal.Secret
}

// NewSessionKeys returns the keys that are derived from a root. The database keeps the root sealed, so all
// replicas have it and every backup of the database contains it.
func NewSessionKeys(root seal.Secret) *SessionKeys { return &SessionKeys{root: root} }

// Key returns the key of a session. It is the same on every host, for as long as the root lives.
func (k *SessionKeys) Key(sessionID string) (seal.Secret, error) {
	return k.derive(sessionID, sessionKeyInfo, sessionKeyPrefix)
}

// OwnerKey returns the key of a user: it opens the workspaces that the user's sessions created. It is
// the same on every host, for as long as the root lives.
func (k *SessionKeys) OwnerKey(userID string) (seal.Secret, error) {
	return k.derive(userID, ownerKeyInfo, ownerKeyPrefix)
}

func (k *SessionKeys) derive(salt, info, prefix string) (seal.Secret, error) {
	derived, err := hkdf.Key(sha256.New, []byte(k.root.Reveal()), []byte(salt), info, sessionKeyBytes)
	if err != nil {
		return seal.Secret{}, err
	}
	return seal.NewSecret(prefix + base64.RawURLEncoding.EncodeToString(derived)), nil
}
