package broker

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"bellhop/crypto/seal"
)

// SessionKeyRoot is what the keys of all sessions are derived from. The database keeps it
// sealed, so all replicas have it and every backup of the database contains it.
type SessionKeyRoot struct {
	Root  seal.Secret
	Since time.Time // hosts are asked to bind keys from here on
}

// SessionKeyGrace is how long an installation that has tasks waits before it binds keys:
// replicas of an earlier release, which have no keys, may still run beside the new ones.
const SessionKeyGrace = time.Hour

const (
	sessionKeyPrefix = "bhk_"
	sessionKeyInfo   = "bellhop session key 1"
	sessionKeyBytes  = 32

	ownerKeyPrefix = "bhu_"
	ownerKeyInfo   = "bellhop owner key 1"
)

// SessionKeys are the keys that this broker proves itself with to the hosts of its sessions.
type SessionKeys struct {
	root  SessionKeyRoot
	binds bool
	now   func() time.Time
}

// NewSessionKeys returns the keys of a root. Unless bind is set, no key is bound to a session
// that has none.
func NewSessionKeys(root SessionKeyRoot, bind bool, now func() time.Time) *SessionKeys {
	return &SessionKeys{root: root, binds: bind, now: now}
}

// Binds reports whether hosts are asked to bind keys.
func (k *SessionKeys) Binds() bool { return k.binds && !k.now().Before(k.root.Since) }

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
	derived, err := hkdf.Key(sha256.New, []byte(k.root.Root.Reveal()), []byte(salt), info, sessionKeyBytes)
	if err != nil {
		return seal.Secret{}, err
	}
	return seal.NewSecret(prefix + base64.RawURLEncoding.EncodeToString(derived)), nil
}
