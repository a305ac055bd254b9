package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

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

// Read runs fn with one view of the data; see database.DB.
func (s *Store) Read(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.db.Read(ctx, fn)
}

func (s *Store) conn(ctx context.Context) *gorm.DB { return s.db.Conn(ctx) }

// forUpdate locks rows on PostgreSQL; SQLite has one writer at a time anyway.
func (s *Store) forUpdate() string {
	if s.db.Dialect() == database.Postgres {
		return " FOR UPDATE"
	}
	return ""
}

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

// first scans the one row of a query.
func first(db *gorm.DB, row any, what string, id any) error {
	result := db.Scan(row)
	if result.Error == nil && result.RowsAffected == 0 {
		result.Error = gorm.ErrRecordNotFound
	}
	return database.Fault(result.Error, what, id)
}

// toJSON leaves <, > and & as they came.
func toJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

func fromJSON(what, id, text string, v any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("%s of %s: %w", what, id, err)
	}
	return nil
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
