package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/migrations"
)

const searchMigration = "_search.sql"

// until returns the files before the one whose name ends with last, and that file with the given text.
func until(t *testing.T, last, text string) fs.FS {
	t.Helper()
	all := migrations.For(database.Postgres)
	names, err := fs.Glob(all, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, name := range names {
		if strings.HasSuffix(name, last) {
			if text != "" {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			return files
		}
		data, err := fs.ReadFile(all, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	t.Fatalf("there is no migration %s", last)
	return nil
}

// The migration of the search is not one transaction. When it stops after any of its statements, its
// repetition goes on, and the schema is that of a run without a stop. A stopped CREATE INDEX
// CONCURRENTLY leaves an index that is not valid.
func TestTheSearchMigrationGoesOnAfterEachInterruption(t *testing.T) {
	t.Parallel()
	parts := statementsOf(t, searchMigration)
	complete := indexes(t, open(t, testenv.Postgres(t, nil)))
	db, err := database.Open(t.Context(), testenv.Postgres(t, nil), database.Options{Synchronous: "OFF"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	migrate := func(files fs.FS) error { return db.Migrate(t.Context(), files) }
	if err := migrate(until(t, searchMigration, "")); err != nil {
		t.Fatal(err)
	}
	for i := range parts {
		stopped := "-- +goose NO TRANSACTION\n-- +goose Up\n" + strings.Join(parts[:i+1], "\n") + "\nSELECT stopped;"
		if err := migrate(until(t, searchMigration, stopped)); err == nil || !strings.Contains(err.Error(), "stopped") {
			t.Fatalf("after %d statements: %v", i+1, err)
		}
		if name, made := indexOf(parts[i]); made { // as a stop inside the statement leaves it
			write(t, db, `UPDATE pg_index SET indisvalid = FALSE, indisready = FALSE WHERE indexrelid = '`+name+`'::regclass`)
		}
	}
	if err := migrate(migrations.For(database.Postgres)); err != nil {
		t.Fatal(err)
	}
	if got := indexes(t, db); !slices.Equal(got, complete) {
		t.Errorf("%q\nwant %q", got, complete)
	}
}

// statementsOf returns the statements of a migration, each with its lines for goose.
func statementsOf(t *testing.T, name string) (parts []string) {
	t.Helper()
	all := migrations.For(database.Postgres)
	names, err := fs.Glob(all, "*"+name)
	if err != nil || len(names) != 1 {
		t.Fatalf("%q, %v", names, err)
	}
	data, err := fs.ReadFile(all, names[0])
	if err != nil {
		t.Fatal(err)
	}
	part, block := "", false
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "-- +goose NO") || strings.HasPrefix(line, "-- +goose Up") {
			continue
		}
		part += line
		switch {
		case strings.HasPrefix(line, "-- +goose StatementBegin"):
			block = true
		case strings.HasPrefix(line, "-- +goose StatementEnd"), !block && strings.HasSuffix(line, ";\n"):
			parts, part, block = append(parts, part), "", false
		}
	}
	if len(parts) < 15 {
		t.Fatalf("%d statements", len(parts))
	}
	return parts
}

// indexOf returns the name of the index that a statement makes.
func indexOf(statement string) (name string, made bool) {
	_, rest, made := strings.Cut(statement, "CREATE INDEX CONCURRENTLY IF NOT EXISTS ")
	name, _, _ = strings.Cut(rest, " ")
	return name, made
}

// indexes returns all indexes and whether they are valid, and all triggers.
func indexes(t *testing.T, db *database.DB) []string {
	t.Helper()
	all := lines(t, db, `SELECT indexrelid::regclass || ' ' || indisvalid || ' ' || indisready || ' '
			|| pg_get_indexdef(indexrelid)
		FROM pg_index WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace) ORDER BY 1`)
	if slices.ContainsFunc(all, func(line string) bool { return strings.Contains(line, " false ") }) {
		t.Errorf("not valid: %q", all)
	}
	return append(all, lines(t, db, `SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1`)...)
}

func write(t *testing.T, db *database.DB, sql string) {
	t.Helper()
	err := db.Write(t.Context(), func(ctx context.Context) error {
		result := db.Conn(ctx).Exec(sql)
		if result.Error == nil && result.RowsAffected != 1 {
			return errors.New(fmt.Sprint(result.RowsAffected, " rows"))
		}
		return result.Error
	})
	if err != nil {
		t.Fatal(err)
	}
}
