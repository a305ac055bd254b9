package store

import (
	"context"

	"gorm.io/gorm"

	"bellhop/crypto/seal"
	"bellhop/internal/database"
)

// Store implements the store interfaces of broker and broker/auth.
type Store struct {
	db     *database.DB
	sealer *seal.Sealer

	commits groupCommit
}

// New wraps an open, migrated database.
func New(db *database.DB, sealer *seal.Sealer) *Store { return &Store{db: db, sealer: sealer} }

// Write runs fn in one transaction, see database.DB.
func (s *Store) Write(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Write(ctx, fn)
}

// Read runs fn in a transaction with a consistent view of the data, see
// database.DB.
func (s *Store) Read(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Read(ctx, fn)
}

func (s *Store) conn(ctx context.Context) *gorm.DB { return s.db.Conn(ctx) }

func (s *Store) postgres() bool { return s.db.Dialect() == database.Postgres }

// lock returns the clause for a SELECT whose rows will be written. On SQLite it is
// empty, because SQLite runs one write transaction at a time and has no such
// clause.
func (s *Store) lock(clause string) string {
	if s.postgres() {
		return " " + clause
	}
	return ""
}

// seal returns nil, which is stored as NULL, for an empty secret.
func (s *Store) seal(table, column, id string, secret seal.Secret) ([]byte, error) {
	if secret.IsZero() {
		return nil, nil
	}
	return s.sealer.Seal(table, column, id, []byte(secret.Reveal()))
}

func (s *Store) open(table, column, id string, sealed []byte) (seal.Secret, error) {
	if sealed == nil {
		return seal.Secret{}, nil
	}
	plain, err := s.sealer.Open(table, column, id, sealed)
	if err != nil {
		return seal.Secret{}, &sealedError{place: table + "." + column + " of " + id, err: err}
	}
	return seal.NewSecret(string(plain)), nil
}

type sealedError struct {
	place string
	err   error
}

func (e *sealedError) Error() string { return e.place + ": " + e.err.Error() }
func (e *sealedError) Unwrap() error { return e.err }
