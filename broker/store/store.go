package store

import (
	"context"

	"gorm.io/gorm"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
)

// Store implements broker.Store.
type Store struct {
	db     *database.DB
	sealer *seal.Sealer

	appends coalescer
}

var _ broker.Store = (*Store)(nil)

// New wraps an open, migrated database.
func New(db *database.DB, sealer *seal.Sealer) *Store { return &Store{db: db, sealer: sealer} }

// Write runs fn in one transaction; see database.DB.
func (s *Store) Write(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Write(ctx, fn)
}

// Read runs fn with one view of the data; see database.DB.
func (s *Store) Read(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Read(ctx, fn)
}

func (s *Store) conn(ctx context.Context) *gorm.DB { return s.db.Conn(ctx) }

func (s *Store) postgres() bool { return s.db.Dialect() == database.Postgres }

// exec runs one statement in a transaction, its own if there is none.
func (s *Store) exec(ctx context.Context, what string, id any, run func(*gorm.DB) *gorm.DB) (int64, error) {
	var rows int64
	err := s.db.Write(ctx, func(ctx context.Context) error {
		result := run(s.conn(ctx))
		rows = result.RowsAffected
		return database.Fault(result.Error, what, id)
	})
	return rows, err
}

// must is exec for a row that has to be there.
func (s *Store) must(ctx context.Context, what string, id any, run func(*gorm.DB) *gorm.DB) error {
	rows, err := s.exec(ctx, what, id, run)
	if err == nil && rows == 0 {
		return database.Fault(gorm.ErrRecordNotFound, what, id)
	}
	return err
}

// seal leaves an empty secret as NULL.
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
