package store

import (
	"context"

	"gorm.io/gorm"

	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/webhook/outbound"
)

// Store implements outbound.Store.
type Store struct {
	db     *database.DB
	sealer *seal.Sealer
}

var _ outbound.Store = (*Store)(nil)

// New wraps an open, migrated database.
func New(db *database.DB, sealer *seal.Sealer) *Store { return &Store{db: db, sealer: sealer} }

// Write runs fn in one transaction; see database.DB.
func (s *Store) Write(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Write(ctx, fn)
}

func (s *Store) conn(ctx context.Context) *gorm.DB { return s.db.Conn(ctx) }

func (s *Store) postgres() bool { return s.db.Dialect() == database.Postgres }

// lock is appended to a SELECT whose rows will be written. SQLite has no such clause.
func (s *Store) lock(clause string) string {
	if s.postgres() {
		return " " + clause
	}
	return ""
}
