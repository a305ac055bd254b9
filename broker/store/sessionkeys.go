package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/crypto/token"
	"bellhop/internal/database"
)

// Rows of the table meta.
const (
	sessionKeyRow      = "session-keys"       // base64 of the sealed root
	sessionKeySinceRow = "session-keys-since" // RFC 3339
	notificationKeyRow = "notification-key"   // base64 of the sealed key
)

// SessionKeyRoot returns the root of the sessions' keys. The first call makes it; replicas that
// start at the same time get the same one.
func (s *Store) SessionKeyRoot(ctx context.Context, now time.Time) (broker.SessionKeyRoot, error) {
	var root broker.SessionKeyRoot
	sealed, err := s.seal("meta", "value", sessionKeyRow, seal.NewSecret(token.NewSecretHex()))
	if err != nil {
		return root, err
	}
	var stored, since string
	err = s.db.Write(ctx, func(ctx context.Context) error {
		first, err := s.firstBinding(ctx, now)
		if err != nil {
			return err
		}
		if stored, err = s.keepMeta(ctx, sessionKeyRow, base64.StdEncoding.EncodeToString(sealed)); err != nil {
			return err
		}
		since, err = s.keepMeta(ctx, sessionKeySinceRow, first.UTC().Format(time.RFC3339))
		return err
	})
	if err != nil {
		return root, err
	}
	if root.Since, err = time.Parse(time.RFC3339, since); err != nil {
		return root, fmt.Errorf("meta %s: %w", sessionKeySinceRow, err)
	}
	if sealed, err = base64.StdEncoding.DecodeString(stored); err != nil {
		return root, fmt.Errorf("meta %s: %w", sessionKeyRow, err)
	}
	root.Root, err = s.open("meta", "value", sessionKeyRow, sealed)
	return root, err
}

// NotificationKey returns the key by which push services know the installation. The first call stores made;
// replicas that start at the same time get the same one.
func (s *Store) NotificationKey(ctx context.Context, made seal.Secret) (seal.Secret, error) {
	sealed, err := s.seal("meta", "value", notificationKeyRow, made)
	if err != nil {
		return seal.Secret{}, err
	}
	var stored string
	err = s.db.Write(ctx, func(ctx context.Context) (err error) {
		stored, err = s.keepMeta(ctx, notificationKeyRow, base64.StdEncoding.EncodeToString(sealed))
		return err
	})
	if err != nil {
		return seal.Secret{}, err
	}
	if sealed, err = base64.StdEncoding.DecodeString(stored); err != nil {
		return seal.Secret{}, fmt.Errorf("meta %s: %w", notificationKeyRow, err)
	}
	return s.open("meta", "value", notificationKeyRow, sealed)
}

// firstBinding is when an installation may begin to bind keys.
func (s *Store) firstBinding(ctx context.Context, now time.Time) (time.Time, error) {
	var tasks int
	if err := s.conn(ctx).Raw(`SELECT count(*) FROM (SELECT 1 FROM tasks LIMIT 1) AS one`).Row().Scan(&tasks); err != nil {
		return now, database.Fault(err, "tasks", "")
	}
	if tasks > 0 {
		return now.Add(broker.SessionKeyGrace), nil
	}
	return now, nil
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
