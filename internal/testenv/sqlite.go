package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// sqliteTemplate is the content of the migrated file of this test binary.
var sqliteTemplate struct {
	once    sync.Once
	content []byte
	err     error
}

// SQLite returns the URL of a new database file that exists until t ends: a copy of a template
// that migrate prepared once per test binary. All calls in a binary must pass the same migrate.
// For an empty database, name a file of t.TempDir instead.
func SQLite(t testing.TB, migrate func(url string) error) string {
	t.Helper()
	sqliteTemplate.once.Do(func() { sqliteTemplate.content, sqliteTemplate.err = migrateFile(migrate) })
	if sqliteTemplate.err != nil {
		t.Fatal(sqliteTemplate.err)
	}
	path := filepath.Join(t.TempDir(), "test.db")
	if err := os.WriteFile(path, sqliteTemplate.content, 0o600); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + path
}

// migrateFile returns the content of a file that migrate prepared and closed.
func migrateFile(migrate func(url string) error) (content []byte, err error) {
	dir, err := os.MkdirTemp("", "template")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "template.db")
	if err := migrate("sqlite:" + path); err != nil {
		return nil, fmt.Errorf("prepare the template file: %w", err)
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return nil, fmt.Errorf("the template file is still open: %s has %d bytes", log.Name(), log.Size())
	}
	return os.ReadFile(path)
}

// SQLiteCopy returns the URL of a copy of a closed database file. It exists until t
// ends.
func SQLiteCopy(t testing.TB, rawURL string) string {
	t.Helper()
	content, err := os.ReadFile(strings.TrimPrefix(rawURL, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + path
}
