package testenv

import (
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"
)

// The databases of a broker, as internal/database names them. This package cannot import it,
// because its tests import this one.
const (
	sqlite   = "sqlite"
	postgres = "postgres"
)

// Databases returns the databases on which t runs the same test: both if BELLHOP_DATABASES=both,
// as in "make check". Otherwise it returns one of them, chosen by a hash of t's name, so that a
// package's tests divide between both at half the cost. BELLHOP_DATABASES=sqlite or postgres
// selects one for all tests.
func Databases(t testing.TB) []string {
	t.Helper()
	all := []string{sqlite, postgres}
	switch choice := os.Getenv("BELLHOP_DATABASES"); choice {
	case "both":
		return all
	case "":
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(t.Name()))
		return all[hash.Sum32()%2:][:1]
	case sqlite, postgres:
		return []string{choice}
	default:
		t.Fatalf("BELLHOP_DATABASES=%s: want both, sqlite or postgres", choice)
		return nil
	}
}

// EachDatabase runs test as a subtest for each of Databases; kind is its name, sqlite or postgres.
func EachDatabase(t *testing.T, test func(t *testing.T, kind string)) {
	t.Helper()
	for _, kind := range Databases(t) {
		t.Run(kind, func(t *testing.T) { test(t, kind) })
	}
}

// Empty returns the URL of a new database of a kind, without tables. It exists until t ends.
func Empty(t testing.TB, kind string) string {
	t.Helper()
	if kind == postgres {
		return Postgres(t, nil)
	}
	return "sqlite:" + filepath.Join(t.TempDir(), "test.db")
}
