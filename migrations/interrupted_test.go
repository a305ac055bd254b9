package migrations_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/migrations"
)

// A migration is one transaction: stopped after a statement, it leaves nothing, and its repetition gives the schema of a
// run without a stop.
func TestAStoppedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, dialect := range []database.Dialect{database.SQLite, database.Postgres} {
		t.Run(string(dialect), func(t *testing.T) {
			files := contentsOf(t, dialect)
			complete := shapeOf(t, open(t, emptyDatabase(t, dialect)))
			db := atVersion(t, emptyDatabase(t, dialect), files, 0)
			for n, file := range files {
				before := shapeOf(t, db)
				parts := statementsOf(t, file)
				for i := 0; i < len(parts); i += stopEvery() {
					stopped := "-- +goose Up\n" + strings.Join(parts[:i+1], "") + "SELECT stopped;\n"
					err := migrate(t, db, append(slices.Clone(files[:n]), migration{file.name, stopped}))
					if err == nil || !strings.Contains(err.Error(), "stopped") {
						t.Fatalf("%s, after %d statements: %v", file.name, i+1, err)
					}
					if after := shapeOf(t, db); !slices.Equal(after, before) {
						t.Fatalf("%s, after %d statements: the schema is\n%q\nwant\n%q", file.name, i+1, after, before)
					}
				}
				testenv.Must(t, migrate(t, db, files[:n+1]))
			}
			if got := shapeOf(t, db); !slices.Equal(got, complete) {
				t.Errorf("%q\nwant %q", got, complete)
			}
		})
	}
}

// stopEvery returns how many statements are between two stops.
func stopEvery() int {
	if testenv.Long() {
		return 1
	}
	return 16
}

// migration is a file of one database.
type migration struct{ name, content string }

// contentsOf returns the migrations of a database in their order.
func contentsOf(t *testing.T, dialect database.Dialect) (all []migration) {
	t.Helper()
	names, err := fs.Glob(migrations.For(dialect), "*.sql")
	testenv.Must(t, err)
	for _, name := range names {
		data, err := fs.ReadFile(migrations.For(dialect), name)
		testenv.Must(t, err)
		all = append(all, migration{name, string(data)})
	}
	return all
}

func migrate(t *testing.T, db *database.DB, files []migration) error {
	t.Helper()
	all := fstest.MapFS{}
	for _, file := range files {
		all[file.name] = &fstest.MapFile{Data: []byte(file.content)}
	}
	return db.Migrate(t.Context(), all)
}

// statementsOf returns the statements of a migration, each with its lines for goose.
func statementsOf(t *testing.T, file migration) (parts []string) {
	t.Helper()
	part, block := "", false
	for line := range strings.Lines(file.content) {
		switch {
		case strings.HasPrefix(line, "-- +goose NO TRANSACTION"):
			t.Fatalf("%s is not one transaction: test that its repetition goes on after each statement", file.name)
		case strings.HasPrefix(line, "-- +goose Up"):
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
	if len(parts) == 0 || strings.TrimSpace(part) != "" {
		t.Fatalf("%s: %d statements, and %q", file.name, len(parts), part)
	}
	return parts
}
