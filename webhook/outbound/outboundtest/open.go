package outboundtest

import (
	"context"
	"testing"
	"time"

	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/store"
)

// Site is one database, which several processes may open.
type Site struct {
	URL    string
	DB     *database.DB
	Sealer *seal.Sealer
	Store  outbound.Store
}

// SQLite opens an empty database.
func SQLite(t testing.TB) *Site {
	t.Helper()
	return site(t, storetest.SQLiteURL(t))
}

// Postgres opens an empty database.
func Postgres(t testing.TB) *Site {
	t.Helper()
	return site(t, storetest.PostgresURL(t))
}

// Databases runs a test on the databases of testenv.EachDatabase.
func Databases(t *testing.T, test func(t *testing.T, site *Site)) {
	t.Helper()
	testenv.EachDatabase(t, func(t *testing.T, kind string) { test(t, site(t, storetest.URL(t, kind))) })
}

func site(t testing.TB, url string) *Site {
	t.Helper()
	s := &Site{URL: url, DB: storetest.OpenDB(t, url), Sealer: storetest.Sealer(t)}
	s.Store = store.New(s.DB, s.Sealer)
	return s
}

// OpenAgain opens the same database over connections of its own, as another process would.
func (s *Site) OpenAgain(t testing.TB) outbound.Store {
	t.Helper()
	return store.New(storetest.OpenDB(t, s.URL), s.Sealer)
}

// User inserts a user and returns the id.
func (s *Site) User(t testing.TB) string {
	t.Helper()
	id := protocol.NewID()
	err := s.DB.Write(context.Background(), func(ctx context.Context) error {
		return s.DB.Conn(ctx).Exec(`INSERT INTO users (id, email, password_hash, admin, created_at) VALUES (?, ?, '', FALSE, ?)`,
			id, id+"@example.org", time.Now().UTC()).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Exec runs a statement.
func (s *Site) Exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	err := s.DB.Write(context.Background(), func(ctx context.Context) error {
		return s.DB.Conn(ctx).Exec(sql, args...).Error
	})
	if err != nil {
		t.Fatal(err)
	}
}
