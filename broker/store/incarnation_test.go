package store_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/testenv"
	"bellhop/migrations"
)

// incarnationOf opens and migrates a database, as a broker does at its start, and returns the
// incarnation that it finds.
func incarnationOf(t *testing.T, url string) string {
	t.Helper()
	db := storetest.OpenDB(t, url)
	must(t, db.Migrate(t.Context(), migrations.For(db.Dialect())))
	id, err := store.New(db, nil).Incarnation(t.Context())
	if err != nil || len(id) != 36 {
		t.Fatalf("%q, %v", id, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAnIncarnationSurvivesRestartsAndReplicas(t *testing.T) {
	t.Parallel()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		url := storetest.URL(t, kind)
		first := incarnationOf(t, url)
		replicas := make([]string, 4)
		var all sync.WaitGroup
		for i := range replicas {
			db := storetest.OpenDB(t, url)
			all.Go(func() { replicas[i], _ = store.New(db, nil).Incarnation(t.Context()) })
		}
		all.Wait()
		for _, id := range append(replicas, incarnationOf(t, url)) {
			if id != first {
				t.Errorf("%q after %q", id, first)
			}
		}
	})
}

func TestAnIncarnationEndsOnce(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s := open(t)
		first, err := s.Incarnation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]string, 4)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() { ids[i], _ = s.EndIncarnation(t.Context(), first) })
		}
		all.Wait()
		now, err := s.Incarnation(t.Context())
		if err != nil || now == first {
			t.Fatalf("%q after %q, %v", now, first, err)
		}
		for _, id := range ids {
			if id != now {
				t.Errorf("one of the goroutines that ended it got %q, another %q", id, now)
			}
		}
	})
}

func TestARestoredFileIsAnotherIncarnation(t *testing.T) {
	t.Parallel()
	original, backup := strings.TrimPrefix(storetest.SQLiteURL(t), "sqlite:"), filepath.Join(t.TempDir(), "backup.db")
	first := incarnationOf(t, "sqlite:"+original)
	copyFile(t, original, backup)
	if again := incarnationOf(t, "sqlite:"+original); again != first {
		t.Errorf("%q after %q: a backup changed it", again, first)
	}
	if err := os.Remove(original); err != nil {
		t.Fatal(err)
	}
	copyFile(t, backup, original)
	if restored := incarnationOf(t, "sqlite:"+original); restored == first {
		t.Error("the restored file has the incarnation of the backup")
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// The broker's user needs no privileges to find each copy, and a promotion counts before the
// checkpoint that follows it.
func TestCopiesOfAPostgresAreOtherIncarnations(t *testing.T) {
	t.Parallel()
	primary := testenv.PostgresServer(t)
	primary.Shell("psql", "-c", "CREATE ROLE app LOGIN", "-c", "CREATE DATABASE bellhop OWNER app")
	url := func(s *testenv.Server, database string) string {
		return "postgres://app@" + s.Addr() + "/" + database + "?sslmode=disable"
	}
	first := incarnationOf(t, url(primary, "bellhop"))
	standby := primary.Standby()
	dump := filepath.Join(primary.Dir(), "dump")
	primary.Shell("pg_dump", "-Fc", "-f", dump, "bellhop")
	seen := map[string]string{"the original": first}
	differs := func(what, id string) {
		t.Helper()
		for earlier, other := range seen {
			if other == id {
				t.Errorf("%s has the incarnation of %s", what, earlier)
			}
		}
		seen[what] = id
	}

	primary.Stop()
	primary.Start()
	if again := incarnationOf(t, url(primary, "bellhop")); again != first {
		t.Errorf("%q after a restart of the server, %q before", again, first)
	}
	standby.Promote()
	differs("the promoted standby", incarnationOf(t, url(standby, "bellhop")))
	primary.Shell("createdb", "-O", "app", "other")
	primary.Shell("pg_restore", "-d", "other", dump)
	differs("a dump restored into another database", incarnationOf(t, url(primary, "other")))
	primary.Shell("pg_restore", "--clean", "-d", "bellhop", dump)
	differs("a dump restored over the tables", incarnationOf(t, url(primary, "bellhop")))
}
