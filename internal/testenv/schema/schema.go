// Package schema gives tests databases with the present schema. Each test binary migrates once
// per kind of database; every test gets a copy. What migrations do is tested elsewhere, in
// bellhop/migrations, internal/database and broker/store. The TestMain of a package that uses
// Postgres calls testenv.Main.
package schema

import (
	"context"
	"errors"
	"testing"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/migrations"
)

// SQLite returns the URL of an empty, migrated file that exists until t ends.
func SQLite(t testing.TB) string {
	t.Helper()
	return testenv.SQLite(t, Migrate)
}

// Postgres returns the URL of an empty, migrated database that exists until t ends.
func Postgres(t testing.TB) string {
	t.Helper()
	return testenv.Postgres(t, Migrate)
}

// New returns the URL of an empty, migrated database of a kind of testenv.EachDatabase.
func New(t testing.TB, kind string) string {
	t.Helper()
	if kind == string(database.Postgres) {
		return Postgres(t)
	}
	return SQLite(t)
}

// Open opens a database for t.
func Open(t testing.TB, url string, pooler database.Pooler) *database.DB {
	t.Helper()
	db, err := connect(url, pooler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Migrate applies the migrations to a database, such as one of testenv.PostgresServer.
func Migrate(url string) error {
	db, err := connect(url, database.PoolerNone)
	if err != nil {
		return err
	}
	return errors.Join(db.Migrate(context.Background(), migrations.For(db.Dialect())), db.Close())
}

// connect retries: on a busy machine the database may take seconds to respond. Two connections let
// statements overlap, and each one costs the server a process with its own caches.
func connect(url string, pooler database.Pooler) (*database.DB, error) {
	const attempts = 5
	for i := 1; ; i++ {
		opts := database.Options{MaxConns: 2, Synchronous: "OFF", Patience: 20 * time.Second, Pooler: pooler}
		db, err := database.Open(context.Background(), url, opts)
		if err == nil || i == attempts {
			return db, err
		}
	}
}
