package store_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		storetest.Run(t, func(t testing.TB) storetest.Store { return open(t) })
	})
}

func TestContractBehindPgBouncer(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB) storetest.Store { return storetest.OpenPooled(t) })
}

func TestInstallationIDNeverChanges(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s := open(t)
		first, err := s.InstallationID(t.Context())
		if err != nil || len(first) != 36 {
			t.Fatalf("%q, %v", first, err)
		}
		if again, err := s.InstallationID(t.Context()); again != first || err != nil {
			t.Errorf("%q after %q, %v", again, first, err)
		}
	})
}

func TestCheckKeyFindsTheWrongKeyset(t *testing.T) {
	t.Parallel()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		db := storetest.OpenDB(t, storetest.URL(t, kind))
		right := storetest.Sealer(t)
		for range 2 {
			if err := store.New(db, right).CheckKey(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		err := store.New(db, storetest.Sealer(t)).CheckKey(t.Context())
		if err == nil || strings.Contains(err.Error(), "\n") ||
			!strings.HasPrefix(err.Error(), "BELLHOP_KEYSET does not open this database") {
			t.Errorf("%v", err)
		}
	})
}

// A sealed value opens only in its own row and column. A value that cannot be
// opened affects no other one (reliability ENC-1, ENC-4).
func TestDamagedSecrets(t *testing.T) {
	t.Parallel()
	db := storetest.OpenDB(t, storetest.SQLiteURL(t))
	s := store.New(db, storetest.Sealer(t))
	ctx := t.Context()
	now := time.Now()
	for _, id := range []string{"one", "two"} {
		must(t, s.CreateHost(ctx, &broker.Host{
			ID: id, Name: id, URL: "https://x.example", Password: seal.NewSecret("pw-" + id),
			Health: broker.HostUnknown, CreatedAt: now,
		}))
	}
	exec(t, db, `UPDATE hosts SET password = (SELECT password FROM hosts WHERE id = 'two') WHERE id = 'one'`)
	if _, err := s.Host(ctx, "one"); !errors.Is(err, seal.ErrCiphertext) || protocol.CodeOf(err) != protocol.CodeInternal {
		t.Errorf("%v", err)
	}
	if hosts, err := s.Hosts(ctx); err != nil || len(hosts) != 2 {
		t.Errorf("%v, %v", hosts, err)
	}
	_, err := s.UpdateHost(ctx, "one", func(h *broker.Host) error { h.Password = seal.NewSecret("mended"); return nil })
	must(t, err)
	if h, err := s.Host(ctx, "one"); err != nil || h.Password.Reveal() != "mended" {
		t.Errorf("%v, %v", h, err)
	}
	exec(t, db, `UPDATE hosts SET password = x'' WHERE id = 'two'`)
	if _, err := s.Host(ctx, "two"); !errors.Is(err, seal.ErrCiphertext) {
		t.Errorf("an empty ciphertext: %v", err)
	}
}

// Neither the broker nor a tool with its rights changes an entry of the audit log.
func TestTheAuditLogIsAppendOnly(t *testing.T) {
	t.Parallel()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		db := storetest.OpenDB(t, storetest.URL(t, kind))
		s := store.New(db, storetest.Sealer(t))
		must(t, s.AddAudit(t.Context(), protocol.AuditEntry{At: time.Now(), Action: protocol.AuditSignIn}))
		refused := []string{`UPDATE audit_log SET action = 'x'`, `UPDATE audit_log SET at = at WHERE no = 1`}
		if kind == "postgres" {
			refused = append(refused, `TRUNCATE audit_log`)
		}
		for _, sql := range refused {
			err := db.Write(t.Context(), func(ctx context.Context) error { return db.Conn(ctx).Exec(sql).Error })
			if err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s: %v", sql, err)
			}
		}
		entries, err := s.AuditEntries(t.Context(), broker.AuditFilter{Limit: 10})
		if err != nil || len(entries) != 1 || entries[0].Action != protocol.AuditSignIn {
			t.Errorf("%+v, %v", entries, err)
		}
	})
}

func exec(t *testing.T, db *database.DB, sql string) {
	t.Helper()
	must(t, db.Write(t.Context(), func(ctx context.Context) error { return db.Conn(ctx).Exec(sql).Error }))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
