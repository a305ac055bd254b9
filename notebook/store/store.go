package store

import (
	"context"

	"gorm.io/gorm"

	"bellhop/internal/database"
	"bellhop/notebook"
)

// Store implements notebook.Store.
type Store struct{ db *database.DB }

var _ notebook.Store = (*Store)(nil)

// New wraps an open, migrated database.
func New(db *database.DB) *Store { return &Store{db: db} }

// Write runs fn in one transaction; see database.DB.
func (s *Store) Write(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Write(ctx, fn)
}

// Read runs fn in a transaction with a consistent view of the data, see
// database.DB.
func (s *Store) Read(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Read(ctx, fn)
}

func (s *Store) conn(ctx context.Context) *gorm.DB { return s.db.Conn(ctx) }

// forUpdate locks rows on PostgreSQL. SQLite runs one write transaction at a time.
func (s *Store) forUpdate() string {
	if s.db.Dialect() == database.Postgres {
		return " FOR UPDATE"
	}
	return ""
}
