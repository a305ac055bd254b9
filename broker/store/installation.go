package store

import (
	"context"

	"bellhop/internal/database"
	"bellhop/protocol"
)

const (
	installationKey = "installation"
	keycheckID      = "1"
	keycheckText    = "bellhop"
)

// InstallationID returns the name of this installation for its hosts. The first
// call creates it; it never changes.
func (s *Store) InstallationID(ctx context.Context) (string, error) {
	var id string
	err := s.db.Write(ctx, func(ctx context.Context) (err error) {
		id, err = s.keepMeta(ctx, installationKey, protocol.NewID())
		return err
	})
	return id, err
}

// CheckKey opens a known text, which the first call seals. This detects a keyset
// that does not belong to this database before any secret is sealed with it.
func (s *Store) CheckKey(ctx context.Context) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		fresh, err := s.sealer.Seal("keycheck", "sealed", keycheckID, []byte(keycheckText))
		if err != nil {
			return err
		}
		insert := `INSERT INTO keycheck (id, sealed) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`
		if err := s.conn(ctx).Exec(insert, keycheckID, fresh).Error; err != nil {
			return database.Fault(err, "key check", keycheckID)
		}
		var sealed []byte
		if err := s.conn(ctx).Raw(`SELECT sealed FROM keycheck WHERE id = ?`, keycheckID).Row().Scan(&sealed); err != nil {
			return database.Fault(err, "key check", keycheckID)
		}
		plain, err := s.sealer.Open("keycheck", "sealed", keycheckID, sealed)
		if err != nil || string(plain) != keycheckText {
			return &protocol.Error{
				Code:    protocol.CodeInvalid,
				Message: "BELLHOP_KEYSET does not open this database: it was first started with another keyset",
				Hint:    "give the keyset of the first start, or start with an empty database",
			}
		}
		return nil
	})
}

// Ping reports whether the database responds.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }
