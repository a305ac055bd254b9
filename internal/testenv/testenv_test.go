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
	if _, err = conn.Exec(context.Background(), `
		CREATE TABLE a (id int PRIMARY KEY, no bigint GENERATED ALWAYS AS IDENTITY);
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'append only'; END $$;
		CREATE TRIGGER refuse BEFORE UPDATE OR TRUNCATE ON a EXECUTE FUNCTION refuse();
		CREATE TABLE filled (id serial, text text);
		INSERT INTO filled (text) VALUES ('kept')`); err != nil {
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

func TestEveryDatabaseIsAFreshCloneOfOneMigratedTemplate(t *testing.T) { //nolint:paralleltest // one pool
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

func TestADatabaseThatATestLeftIsUsedAgainAsIfNew(t *testing.T) { //nolint:paralleltest // one pool
	const untouched = `DO $$ BEGIN
		ASSERT (SELECT count(*) FROM a) = 0;
		ASSERT (SELECT string_agg(text, ',') FROM filled) = 'kept';
		ASSERT (SELECT count(*) FROM information_schema.columns WHERE table_name = 'a') = 2;
		ASSERT (SELECT count(*) FROM pg_stats WHERE tablename = 'a') = 0;
		INSERT INTO a VALUES (1);
		ASSERT (SELECT no FROM a) = 1;
		INSERT INTO filled DEFAULT VALUES;
		ASSERT (SELECT max(id) FROM filled) = 2;
		DELETE FROM filled WHERE id = 2;
		PERFORM setval('filled_id_seq', 1);
		DELETE FROM a;
	END $$`
	for _, c := range []struct {
		left  string
		again bool
	}{
		{`SELECT 1`, true},
		{`INSERT INTO a SELECT generate_series(1, 9)`, true},
		{`INSERT INTO a SELECT generate_series(1, 50000)`, false},
		{`ALTER TABLE a ADD COLUMN more int`, false},
		{`ALTER TABLE a ADD CHECK (id < 0) NOT VALID`, false},
		{`CREATE INDEX more ON a (no, id)`, false},
		{`ALTER TABLE a DISABLE TRIGGER refuse`, false},
		{`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`, false},
		{`INSERT INTO a VALUES (1); ANALYZE a`, false},
		{`UPDATE filled SET text = 'changed'`, false},
		{`INSERT INTO filled (text) VALUES ('more')`, false},
		{`ALTER TABLE a RENAME TO b`, false},
		{`DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET work_mem = 999'; END $$`, false},
	} {
		var url string
		t.Run("left", func(t *testing.T) {
			url = testenv.Postgres(t, migrate)
			testenv.Must(t, run(t, url, c.left))
		})
		next := testenv.Postgres(t, migrate)
		if (next == url) != c.again {
			t.Errorf("after %s: used again %t, want %t", c.left, next == url, c.again)
		}
		if err := run(t, next, untouched); err != nil {
			t.Errorf("after %s: %v", c.left, err)
		}
	}
}

func TestADatabaseWithAConnectionIsNotUsedAgain(t *testing.T) { //nolint:paralleltest // one pool
	var conn *pgx.Conn
	t.Run("left", func(t *testing.T) {
		var err error
		conn, err = pgx.Connect(t.Context(), testenv.Postgres(t, migrate))
		testenv.Must(t, err)
	})
	defer func() { _ = conn.Close(t.Context()) }()
	if err := run(t, testenv.Postgres(t, migrate), `SELECT 1`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `SELECT 1`); err == nil {
		t.Error("the test before still writes to its database")
	}
}

func TestEveryFileIsACopyOfOneMigratedTemplate(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600))
	c := testenv.NewClock(start)
	if !c.Now().Equal(start) || c.Now().Location() != time.UTC {
		t.Errorf("starts at %v", c.Now())
	}
	if got := c.Advance(time.Minute); !got.Equal(start.Add(time.Minute)) || !c.Now().Equal(got) {
		t.Errorf("advanced to %v", got)
	}
}
