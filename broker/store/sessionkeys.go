package store

import (
	"context"
	"encoding/base64"
	"fmt"

	"bellhop/crypto/seal"
	"bellhop/crypto/token"
	"bellhop/internal/database"
)

// Rows of the table meta, each with base64 of a sealed secret.
const (
	sessionKeyRow      = "session-keys"
	notificationKeyRow = "notification-key"
)

// SessionKeyRoot returns the secret that the sessions' keys are derived from. The first call makes it; replicas
// that start at the same time get the same one.
func (s *Store) SessionKeyRoot(ctx context.Context) (seal.Secret, error) {
	return s.keepSecret(ctx, sessionKeyRow, seal.NewSecret(token.NewSecretHex()))
}

// NotificationKey returns the key by which push services know the installation. The first call stores made;
// replicas that start at the same time get the same one.
func (s *Store) NotificationKey(ctx context.Context, made seal.Secret) (seal.Secret, error) {
	return s.keepSecret(ctx, notificationKeyRow, made)
}

// keepSecret seals and stores a secret in a row of the table meta unless there is one, and returns the stored one.
func (s *Store) keepSecret(ctx context.Context, name string, made seal.Secret) (seal.Secret, error) {
	sealed, err := s.seal("meta", "value", name, made)
	if err != nil {
		return seal.Secret{}, err
	}
	var stored string
	err = s.db.Write(ctx, func(ctx context.Context) (err error) {
		stored, err = s.keepMeta(ctx, name, base64.StdEncoding.EncodeToString(sealed))
		return err
	})
	if err != nil {
		return seal.Secret{}, err
	}
	if sealed, err = base64.StdEncoding.DecodeString(stored); err != nil {
		return seal.Secret{}, fmt.Errorf("meta %s: %w", name, err)
	}
	return s.open("meta", "value", name, sealed)
}

// keepMeta stores a value unless there is one, and returns the stored one.
func (s *Store) keepMeta(ctx context.Context, name, value string) (string, error) {
	insert := `INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`
	if err := s.conn(ctx).Exec(insert, name, value).Error; err != nil {
		return "", database.Fault(err, "meta", name)
	}
	err := s.conn(ctx).Raw(`SELECT value FROM meta WHERE name = ?`, name).Row().Scan(&value)
	return value, database.Fault(err, "meta", name)
}
