package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"

	"bellhop/internal/testenv"
)

// Every command that opens a database of before 0.1.0 refuses it, says what to do, and leaves it as it is.
func TestADatabaseOfBeforeTheFirstReleaseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broker.db")
	db, err := driver.Open("file:" + path)
	testenv.Must(t, err)
	_, err = db.ExecContext(t.Context(), `CREATE TABLE goose_db_version (
			id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP);
		INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1), (1, 1), (31, 1);
		CREATE TABLE tasks (id text)`)
	testenv.Must(t, err)
	testenv.Must(t, db.Close())
	_, keyset, _ := runCommand(t, "keys", "generate")
	t.Setenv("BELLHOP_KEYSET", strings.TrimSpace(keyset))
	t.Setenv("BELLHOP_DATABASE_URL", "sqlite:"+path)
	for _, args := range []string{"migrate status", "migrate up", "users list", "serve"} {
		code, _, stderr := runCommand(t, strings.Fields(args)...)
		for _, want := range []string{"made before Bellhop 0.1.0", "has version 31", "Nothing was changed", "an empty database"} {
			if code != 1 || !strings.Contains(stderr, want) {
				t.Errorf("%s: exit %d: %s\nlacks %q", args, code, stderr, want)
			}
		}
	}
	db, err = driver.Open("file:" + path)
	testenv.Must(t, err)
	defer func() { testenv.Must(t, db.Close()) }()
	var objects, versions int
	testenv.Must(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'`).Scan(&objects))
	testenv.Must(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM goose_db_version`).Scan(&versions))
	if objects != 2 || versions != 3 {
		t.Errorf("%d tables, %d versions", objects, versions)
	}
}
