// Package storetest tests that a store keeps the contract of broker.Store, and
// opens real, empty stores for other packages' tests. The TestMain of a package
// that uses it calls testenv.Main.
package storetest

import (
	"testing"

	"bellhop/broker/store"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/schema"
)

// Open returns an empty, migrated SQLite store that lives as long as t.
func Open(t testing.TB) *store.Store {
	t.Helper()
	return store.New(OpenDB(t, SQLiteURL(t)), Sealer(t))
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
	return store.New(schema.Open(t, url, database.PoolerTransaction), Sealer(t))
}

// SQLiteURL returns the URL of an empty, migrated file.
func SQLiteURL(t testing.TB) string {
	t.Helper()
	return schema.SQLite(t)
}

// PostgresURL returns the URL of an empty, migrated database.
func PostgresURL(t testing.TB) string {
	t.Helper()
	return schema.Postgres(t)
}

// URL returns the URL of an empty, migrated database of a kind of testenv.EachDatabase.
func URL(t testing.TB, kind string) string {
	t.Helper()
	return schema.New(t, kind)
}

// Databases runs a test on the databases of testenv.EachDatabase.
func Databases(t *testing.T, test func(t *testing.T, open func(t testing.TB) *store.Store)) {
	t.Helper()
	open := map[string]func(testing.TB) *store.Store{"sqlite": Open, "postgres": OpenPostgres}
	testenv.EachDatabase(t, func(t *testing.T, kind string) { test(t, open[kind]) })
}

// OpenDB opens a database of SQLiteURL or PostgresURL for t. Tests with several brokers open the
// same one repeatedly.
func OpenDB(t testing.TB, url string) *database.DB {
	t.Helper()
	return schema.Open(t, url, database.PoolerNone)
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
