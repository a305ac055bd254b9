package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"bellhop/broker/store"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/private"
	"bellhop/migrations"
	"bellhop/protocol"
)

// StoreConfig configures the access to the broker's database.
type StoreConfig struct {
	DatabaseURL seal.Secret // it may contain a password
	Keyset      seal.Secret
	KeysetFile  private.Exposure // of the file of the keyset, if it comes from one
	Log         *slog.Logger
	MaxConns    int             // 0 = the default of internal/database
	Pooler      database.Pooler // between the broker and PostgreSQL
	Version     string          // of this program; "" = not known
}

// openDatabase opens the database without migrating it.
func (c StoreConfig) openDatabase(ctx context.Context) (*database.DB, error) {
	if c.DatabaseURL.IsZero() {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "BELLHOP_DATABASE_URL is not set",
			Hint: "Set it to postgres://user:password@server/name or sqlite:PATH, or run 'bellhop dev', which needs no " +
				"configuration.",
		}
	}
	return database.Open(ctx, c.DatabaseURL.Reveal(),
		database.Options{Logger: c.Log, MaxConns: c.MaxConns, Pooler: c.Pooler, Version: c.Version})
}

// openStore opens and migrates the database. It fails if the database was sealed
// with another keyset.
func (c StoreConfig) openStore(ctx context.Context, sealer *seal.Sealer) (*database.DB, *store.Store, error) {
	db, err := c.openDatabase(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := db.Migrate(ctx, migrations.For(db.Dialect())); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("migrate the database: %w", err), db.Close())
	}
	st := store.New(db, sealer)
	if err := st.CheckKey(ctx); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, st, nil
}

func (c StoreConfig) newSealer() (*seal.Sealer, error) {
	const hint = "Create one with 'bellhop keys generate', store it, and set BELLHOP_KEYSET or BELLHOP_KEYSET_FILE."
	if c.Keyset.IsZero() {
		return nil, &protocol.Error{Code: protocol.CodeInvalid, Message: "BELLHOP_KEYSET is not set", Hint: hint}
	}
	sealer, err := seal.Parse(c.Keyset.Reveal())
	if err != nil {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "BELLHOP_KEYSET is not a keyset", Hint: hint, Err: err,
		}
	}
	return sealer, nil
}

// Schema is the state of a database's schema.
type Schema struct {
	Migrations []database.Migration
}

// Migrate applies the missing migrations.
func Migrate(ctx context.Context, c StoreConfig) (*Schema, error) {
	return withDatabase(ctx, c, func(db *database.DB) error {
		return db.Migrate(ctx, migrations.For(db.Dialect()))
	})
}

// MigrationStatus returns the state of the schema and changes nothing.
func MigrationStatus(ctx context.Context, c StoreConfig) (*Schema, error) {
	return withDatabase(ctx, c, func(*database.DB) error { return nil })
}

func withDatabase(ctx context.Context, c StoreConfig, do func(*database.DB) error) (*Schema, error) {
	db, err := c.openDatabase(ctx)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := do(db); err != nil {
		return nil, err
	}
	schema := &Schema{}
	if schema.Migrations, err = db.MigrationStatus(ctx, migrations.For(db.Dialect())); err != nil {
		return nil, err
	}
	return schema, nil
}
