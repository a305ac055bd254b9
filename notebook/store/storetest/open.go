// Package storetest tests that a store keeps the contract of notebook.Store, and
// opens real, empty stores for other packages' tests. The TestMain of a package
// that uses it calls testenv.Main.
package storetest

import (
	"context"
	"testing"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/schema"
	"bellhop/notebook/store"
	"bellhop/protocol"
)

// Books is a store, and the database behind it.
type Books struct {
	*store.Store
	DB *database.DB
}

// Open returns an empty, migrated SQLite store that lives as long as t.
func Open(t testing.TB) *Books {
	t.Helper()
	return open(t, schema.SQLite(t))
}

// OpenPostgres is Open on PostgreSQL.
func OpenPostgres(t testing.TB) *Books {
	t.Helper()
	return open(t, schema.Postgres(t))
}

// Databases runs a test on the databases of testenv.EachDatabase.
func Databases(t *testing.T, test func(t *testing.T, open func(t testing.TB) *Books)) {
	t.Helper()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		test(t, func(t testing.TB) *Books {
			t.Helper()
			return open(t, schema.New(t, kind))
		})
	})
}

// User creates a user and returns its id.
func (b *Books) User(t testing.TB) string {
	t.Helper()
	id := protocol.NewID()
	err := b.DB.Write(context.Background(), func(ctx context.Context) error {
		return b.DB.Conn(ctx).Exec(`INSERT INTO users (id, email, password_hash, admin, created_at) VALUES (?, ?, '', ?, ?)`,
			id, id+"@example.com", false, time.Unix(0, 0).UTC()).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func open(t testing.TB, url string) *Books {
	t.Helper()
	db := schema.Open(t, url, database.PoolerNone)
	return &Books{Store: store.New(db), DB: db}
}
