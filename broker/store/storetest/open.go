// Package storetest tests that a store keeps the contract of broker.Store, and
// opens real, empty stores for other packages' tests. The TestMain of a package
// that uses it calls testenv.Main.
package storetest

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"bellhop/broker/store"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/migrations"
)

// Open returns an empty, migrated SQLite store that lives as long as t.
func Open(t testing.TB) *store.Store {
	t.Helper()
	db := OpenDB(t, "sqlite:"+filepath.Join(t.TempDir(), "test.db"))
	return store.New(db, Sealer(t))
}

// OpenPostgres is Open on PostgreSQL.
func OpenPostgres(t testing.TB) *store.Store {
	t.Helper()
	return store.New(OpenDB(t, PostgresURL(t)), Sealer(t))
}

// OpenPooled is OpenPostgres through PgBouncer in transaction mode.
func OpenPooled(t testing.TB) *store.Store {
	t.Helper()
	url := testenv.PgBouncer(t, PostgresURL(t))
	db, err := connect(url, database.PoolerTransaction)
	return store.New(migrated(t, db, err), Sealer(t))
}

// PostgresURL returns the URL of an empty, migrated database, for tests with several brokers.
func PostgresURL(t testing.TB) string {
	t.Helper()
	return testenv.Postgres(t, migrate)
}

// Databases runs a test on SQLite and on PostgreSQL.
func Databases(t *testing.T, test func(t *testing.T, open func(t testing.TB) *store.Store)) {
	t.Run("sqlite", func(t *testing.T) { test(t, Open) })
	t.Run("postgres", func(t *testing.T) { test(t, OpenPostgres) })
}

// OpenDB opens and migrates a database for t.
func OpenDB(t testing.TB, url string) *database.DB {
	t.Helper()
	db, err := connect(url, database.PoolerNone)
	return migrated(t, db, err)
}

func migrated(t testing.TB, db *database.DB, err error) *database.DB {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(context.Background(), migrations.For(db.Dialect())); err != nil {
		t.Fatal(err)
	}
	return db
}

// connect retries: on a busy machine the database may take seconds to respond.
func connect(url string, pooler database.Pooler) (*database.DB, error) {
	const attempts = 5
	for i := 1; ; i++ {
		opts := database.Options{Synchronous: "OFF", Patience: 20 * time.Second, Pooler: pooler}
		db, err := database.Open(context.Background(), url, opts)
		if err == nil || i == attempts {
			return db, err
		}
	}
}

// Sealer returns a sealer with a new keyset.
func Sealer(t testing.TB) *seal.Sealer {
	t.Helper()
	keyset, err := seal.Generate()
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := seal.Parse(keyset)
	if err != nil {
		t.Fatal(err)
	}
	return sealer
}

func migrate(url string) error {
	db, err := connect(url, database.PoolerNone)
	if err != nil {
		return err
	}
	if err := db.Migrate(context.Background(), migrations.For(db.Dialect())); err != nil {
		return err
	}
	return db.Close()
}
