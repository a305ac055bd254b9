package database_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + pairs[i+1])}
	}
	return fsys
}

var (
	first  = []string{"0001_notes.sql", createNotes + ";"}
	second = append(first, "0002_more.sql",
		"ALTER TABLE notes ADD COLUMN more TEXT;\nCREATE TABLE other (id INTEGER PRIMARY KEY);")
)

func eachEmpty(t *testing.T, f func(t *testing.T, url string)) {
	t.Helper()
	testenv.EachDatabase(t, func(t *testing.T, kind string) { f(t, testenv.Empty(t, kind)) })
}

func TestMigrateAppliesMissingFilesOnce(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		db := open(t, url, database.Options{})
		for _, step := range []struct {
			fsys fstest.MapFS
			want string
		}{
			{files(first...), "1 notes applied"},
			{files(first...), "1 notes applied"},
			{files(second...), "1 notes applied, 2 more missing"},
		} {
			if strings.HasSuffix(step.want, "applied") {
				if err := db.Migrate(t.Context(), step.fsys); err != nil {
					t.Fatal(err)
				}
			}
			if got := status(t, db, step.fsys); got != step.want {
				t.Errorf("status %q, want %q", got, step.want)
			}
		}
		if err := db.Migrate(t.Context(), files(second...)); err != nil {
			t.Fatal(err)
		}
		if got := status(t, db, files(second...)); got != "1 notes applied, 2 more applied" {
			t.Errorf("status %q", got)
		}
	})
}

func status(t *testing.T, db *database.DB, fsys fstest.MapFS) string {
	t.Helper()
	list, err := db.MigrationStatus(t.Context(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, m := range list {
		state := "missing"
		if m.AppliedAt != nil {
			state = "applied"
			if m.AppliedAt.IsZero() {
				t.Errorf("%s has no time", m.Name)
			}
		}
		words = append(words, string(rune('0'+m.Version))+" "+m.Name+" "+state)
	}
	return strings.Join(words, ", ")
}

func TestADatabaseNewerThanTheBinaryIsRefused(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		db := open(t, url, database.Options{})
		if err := db.Migrate(t.Context(), files(second...)); err != nil {
			t.Fatal(err)
		}
		_, statusErr := db.MigrationStatus(t.Context(), files(first...))
		for _, err := range []error{db.Migrate(t.Context(), files(first...)), statusErr} {
			if err == nil ||
				!strings.Contains(err.Error(), "the database is newer than this bellhop: it is at version 2, this binary knows 1") {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestADatabaseHalfWayBetweenVersionsIsRefused(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		db := open(t, url, database.Options{})
		last := files("0001_notes.sql", createNotes+";", "0003_last.sql", "CREATE TABLE last (id INTEGER);")
		if err := db.Migrate(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		complete := files(append(second, "0003_last.sql", "CREATE TABLE last (id INTEGER);")...)
		_, statusErr := db.MigrationStatus(t.Context(), complete)
		for _, err := range []error{db.Migrate(t.Context(), complete), statusErr} {
			const want = "half-way between versions: 2 (more) is missing, 3 is applied; restore a backup"
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// A database of files that are no more is refused before goose looks at it: goose would run the first file on it.
func TestADatabaseOfEarlierFilesIsRefusedUnchanged(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		db := open(t, url, database.Options{})
		if err := db.Migrate(t.Context(), files(second...)); err != nil {
			t.Fatal(err)
		}
		fillNotes(t, db, 1)
		before := everythingIn(t, db)
		later := files("0032_schema.sql", "CREATE TABLE another (id INTEGER);", "0033_more.sql", "DROP TABLE notes;")
		_, statusErr := db.MigrationStatus(t.Context(), later)
		refusals := []error{db.Migrate(t.Context(), later), statusErr}
		if db.Dialect() == database.Postgres { // where goose would add a table for its lock
			behind := open(t, url, database.Options{Pooler: database.PoolerTransaction})
			refusals = append(refusals, behind.Migrate(t.Context(), later))
		}
		for _, err := range refusals {
			testenv.WantCode(t, err, protocol.CodeInvalid)
			const want = "made before Bellhop 0.1.0: it has version 2, upgrades begin with 32 (schema). Nothing was changed"
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		}
		if after := everythingIn(t, db); after != before {
			t.Errorf("before\n%s\nafter\n%s", before, after)
		}
	})
}

// everythingIn lists tables with their columns, and the rows of those that a migration would change.
func everythingIn(t *testing.T, db *database.DB) string {
	t.Helper()
	schema := `SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name`
	if db.Dialect() == database.Postgres {
		schema = `SELECT concat_ws(' ', table_name, column_name, data_type) FROM information_schema.columns
			WHERE table_schema = 'public' ORDER BY table_name, ordinal_position`
	}
	var all []string
	for _, query := range []string{
		schema, `SELECT id FROM notes`, `SELECT CAST(version_id AS text) FROM goose_db_version ORDER BY id`,
	} {
		var found []string
		if err := db.Conn(t.Context()).Raw(query).Scan(&found).Error; err != nil || len(found) == 0 {
			t.Fatalf("%s: %d rows, %v", query, len(found), err)
		}
		all = append(all, found...)
	}
	return strings.Join(all, "\n")
}

func TestAFailedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		db := open(t, url, database.Options{})
		bad := files("0001_notes.sql", createNotes+";\nCREATE TABLE (;")
		if err := db.Migrate(t.Context(), bad); err == nil {
			t.Fatal("no error")
		}
		if err := db.Migrate(t.Context(), files(first...)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestConcurrentMigrationsSucceed(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		var wg sync.WaitGroup
		var errs [4]error
		for i := range errs {
			wg.Go(func() {
				db, err := database.Open(context.Background(), url, database.Options{})
				if err != nil {
					errs[i] = err
					return
				}
				errs[i] = errors.Join(db.Migrate(context.Background(), files(second...)), db.Close())
			})
		}
		wg.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Error(err)
		}
	})
}
