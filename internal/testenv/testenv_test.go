package testenv_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

func run(t *testing.T, url, sql string) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	_, err = conn.Exec(t.Context(), sql)
	return err
}

var migrations int

func migrate(url string) error {
	migrations++
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		return err
	}
	if _, err = conn.Exec(context.Background(), `CREATE TABLE a (id int PRIMARY KEY)`); err != nil {
		return err
	}
	return conn.Close(context.Background())
}

func TestTestsDivideBetweenTheDatabases(t *testing.T) {
	t.Setenv("BELLHOP_DATABASES", "")
	found := map[string]int{}
	for i := range 20 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			testenv.EachDatabase(t, func(t *testing.T, kind string) {
				found[kind]++
				if !strings.HasSuffix(t.Name(), "/"+kind) {
					t.Errorf("%s runs on %s", t.Name(), kind)
				}
			})
			if again := testenv.Databases(t); len(again) != 1 || !slices.Equal(again, testenv.Databases(t)) {
				t.Errorf("another choice for the same name: %v", again)
			}
		})
	}
	if found["sqlite"] == 0 || found["postgres"] == 0 || found["sqlite"]+found["postgres"] != 20 {
		t.Errorf("%v", found)
	}
	for choice, want := range map[string][]string{
		"both": {"sqlite", "postgres"}, "sqlite": {"sqlite"}, "postgres": {"postgres"},
	} {
		t.Setenv("BELLHOP_DATABASES", choice)
		if got := testenv.Databases(t); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", choice, got, want)
		}
	}
}

func TestEveryDatabaseIsAFreshCloneOfOneMigratedTemplate(t *testing.T) {
	for range 3 {
		if err := run(t, testenv.Postgres(t, migrate), `INSERT INTO a VALUES (1)`); err != nil {
			t.Fatal(err)
		}
	}
	if migrations != 1 {
		t.Errorf("migrated %d times", migrations)
	}
	if err := run(t, testenv.Postgres(t, nil), `CREATE TABLE a (id int)`); err != nil {
		t.Errorf("without migrate the database is empty: %v", err)
	}
}

func TestEveryFileIsACopyOfOneMigratedTemplate(t *testing.T) {
	prepared := 0
	migrate := func(url string) error {
		prepared++
		return os.WriteFile(strings.TrimPrefix(url, "sqlite:"), []byte("migrated"), 0o600)
	}
	seen := map[string]bool{}
	for range 3 {
		path := strings.TrimPrefix(testenv.SQLite(t, migrate), "sqlite:")
		content, err := os.ReadFile(path)
		if err != nil || string(content) != "migrated" || seen[path] {
			t.Fatalf("%s has %q, %v", path, content, err)
		}
		seen[path] = true
		testenv.Must(t, os.WriteFile(path, []byte("changed"), 0o600))
	}
	if prepared != 1 {
		t.Errorf("migrated %d times", prepared)
	}
}

func TestAServerKeepsItsDataAndAddressOverAStop(t *testing.T) {
	s := testenv.PostgresServer(t)
	if err := run(t, s.URL(), `CREATE TABLE kept (id int)`); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	s.Stop()
	if err := run(t, s.URL(), `SELECT 1`); err == nil {
		t.Fatal("a stopped server answers")
	}
	s.Start()
	if err := run(t, s.URL(), `SELECT * FROM kept`); err != nil {
		t.Fatal(err)
	}
	if err := run(t, s.URLVia(testenv.NewProxy(t, s.Addr()).Addr()), `SELECT * FROM kept`); err != nil {
		t.Fatal(err)
	}
}

func TestAClockMovesOnlyWhenAdvanced(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600))
	c := testenv.NewClock(start)
	if !c.Now().Equal(start) || c.Now().Location() != time.UTC {
		t.Errorf("starts at %v", c.Now())
	}
	if got := c.Advance(time.Minute); !got.Equal(start.Add(time.Minute)) || !c.Now().Equal(got) {
		t.Errorf("advanced to %v", got)
	}
}
