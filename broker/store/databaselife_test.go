package store_test

import (
	"strings"
	"testing"

	"bellhop/broker/store"
	"bellhop/broker/store/storetest"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// databaseLife returns the life that a broker on a database names.
func databaseLife(t *testing.T, url string) string {
	t.Helper()
	db := storetest.OpenDB(t, url)
	id, err := store.New(db, nil).DatabaseLife(t.Context())
	must(t, err)
	if life := protocol.ParseLife("b." + id); life.ID != id {
		t.Fatalf("%q is no life", id)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestReplicasOfADatabaseAreOneLifeAndCopiesAreOthers(t *testing.T) {
	t.Parallel()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		url := storetest.URL(t, kind)
		incarnationOf(t, url)
		first := databaseLife(t, url)
		if again := databaseLife(t, url); again != first {
			t.Errorf("%q after %q", again, first)
		}
		other := storetest.URL(t, kind)
		if kind == "sqlite" {
			copyFile(t, strings.TrimPrefix(url, "sqlite:"), strings.TrimPrefix(other, "sqlite:"))
		} else {
			incarnationOf(t, other)
		}
		if copied := databaseLife(t, other); copied == first {
			t.Error("two databases are one life")
		}
	})
}

// A copy of the data directory has the system's identifier, its timeline and all numbers of the original.
func TestServersOnCopiesOfTheSameFilesAreTwoLives(t *testing.T) {
	t.Parallel()
	server := testenv.PostgresServer(t)
	server.Shell("createdb", "bellhop")
	url := "postgres://postgres@" + server.Addr() + "/bellhop?sslmode=disable"
	incarnationOf(t, url)
	first := databaseLife(t, url)
	server.Stop()
	server.Start()
	if again := databaseLife(t, url); again == first {
		t.Error("another start of a server on the same files is the same life")
	}
}
