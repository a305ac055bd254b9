package migrations_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

// A database of each version, with a row in every table that the version has, gets the schema of a new database, and
// loses no value of a row.
func TestEveryVersionUpgradesWithItsRows(t *testing.T) {
	t.Parallel()
	for _, dialect := range []database.Dialect{database.SQLite, database.Postgres} {
		t.Run(string(dialect), func(t *testing.T) {
			files := contentsOf(t, dialect)
			newest := shapeOf(t, atVersion(t, emptyDatabase(t, dialect), files, len(files)))
			for n := 1; n <= len(files); n++ {
				url := emptyDatabase(t, dialect)
				db := atVersion(t, url, files, n)
				fill(t, db)
				before := contents(t, db)
				if len(before) < 30 {
					t.Fatalf("%s: %d tables with rows", files[n-1].name, len(before))
				}
				testenv.Must(t, db.Close()) // statements that connections remember are of the earlier schema
				db = atVersion(t, url, files, len(files))
				expectRows(t, db, files[n-1].name, before)
				if got := shapeOf(t, db); !slices.Equal(got, newest) {
					t.Errorf("from %s the schema is\n%q\nwant\n%q", files[n-1].name, got, newest)
				}
				testenv.Must(t, db.Close())
			}
		})
	}
}

// No database of before 0.1.0 is upgraded: none of its tables gets a column, and no row is changed.
func TestADatabaseOfBeforeTheFirstReleaseStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, dialect := range []database.Dialect{database.SQLite, database.Postgres} {
		t.Run(string(dialect), func(t *testing.T) {
			url := emptyDatabase(t, dialect)
			early := []migration{
				{"0001_broker.sql", "-- +goose Up\nCREATE TABLE tasks (id text NOT NULL PRIMARY KEY, body text);\n"},
				{"0031_forge_tokens.sql", "-- +goose Up\nCREATE TABLE forge_tokens (id text NOT NULL PRIMARY KEY);\n"},
			}
			db := atVersion(t, url, early, len(early))
			fill(t, db)
			rows, schema := contents(t, db), shapeOf(t, db)
			const applied = "SELECT count(*) FROM goose_db_version"
			versions := lines(t, db, applied)
			err := migrate(t, db, contentsOf(t, dialect))
			testenv.WantCode(t, err, protocol.CodeInvalid)
			if err == nil || !strings.Contains(err.Error(), "made before Bellhop 0.1.0: it has version 31") {
				t.Errorf("%v", err)
			}
			if got := shapeOf(t, db); !slices.Equal(got, schema) {
				t.Errorf("the schema is\n%q\nwas\n%q", got, schema)
			}
			if got := lines(t, db, applied); !slices.Equal(got, versions) {
				t.Errorf("%q versions, were %q", got, versions)
			}
			expectRows(t, db, "0031", rows)
		})
	}
}

func emptyDatabase(t *testing.T, dialect database.Dialect) (url string) {
	t.Helper()
	return testenv.Empty(t, string(dialect))
}

// atVersion opens a database and applies what it lacks of the first n migrations.
func atVersion(t *testing.T, url string, files []migration, n int) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), url, database.Options{Synchronous: "OFF"})
	testenv.Must(t, err)
	t.Cleanup(func() { _ = db.Close() }) // again, if the test has closed it
	if n > 0 {
		testenv.Must(t, migrate(t, db, files[:n]))
	}
	return db
}

// shapeOf lists columns, indexes, keys and views.
func shapeOf(t *testing.T, db *database.DB) []string {
	t.Helper()
	queries := []string{sqliteColumns, sqliteViews, sqliteUnique, sqliteIndexes, sqliteForeign}
	if db.Dialect() == database.Postgres {
		queries = []string{postgresColumns, postgresViews, postgresUnique, postgresIndexes, postgresForeign}
	}
	var all []string
	for _, query := range queries {
		found := lines(t, db, query)
		slices.Sort(found)
		all = append(all, found...)
	}
	return all
}

// Columns of all tables in the order in which the tables were made, so that a row follows those it refers to:
// table, column and class of type.
const (
	sqliteFields = `SELECT m.name || ' ' || c.name || ' ' || lower(c.type)
		FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c
		WHERE m.type = 'table' AND c.hidden = 0 AND m.name NOT LIKE 'goose%' AND m.name NOT LIKE 'sqlite%'
			AND m.name NOT LIKE 'search%'
		ORDER BY m.rowid, c.cid`
	postgresFields = `SELECT t.relname || ' ' || c.column_name || ' ' || replace(c.data_type, ' ', '-')
		FROM pg_class t JOIN information_schema.columns c ON c.table_name = t.relname AND c.table_schema = 'public'
		WHERE t.relkind = 'r' AND t.relnamespace = 'public'::regnamespace AND t.relname NOT LIKE 'goose%'
			AND c.is_generated = 'NEVER' AND c.is_identity = 'NO'
		ORDER BY t.oid, c.ordinal_position`
)

type field struct{ table, name, kind string }

func fieldsOf(t *testing.T, db *database.DB) (all []field) {
	t.Helper()
	query := sqliteFields
	if db.Dialect() == database.Postgres {
		query = postgresFields
	}
	for _, line := range lines(t, db, query) {
		words := strings.Fields(line)
		all = append(all, field{words[0], words[1], words[2]})
	}
	return all
}

// values are those of columns that migrations read, or that hold JSON.
var values = map[string]string{
	"body":      `'{"type":"text","text":"it''s done"}'`,
	"artifacts": `'[]'`, "scopes": `'[]'`, "metadata": `'{}'`, "usage": `'{}'`, "options": `'[]'`, "args": `'{}'`,
	"last_turn": `'{"id":"one","finishReason":"stop"}'`, "verification": `'{}'`, "attachments": `'[]'`,
}

func (f field) value(dialect database.Dialect) string {
	binary := f.kind == "blob" || f.kind == "bytea"
	switch {
	case binary && dialect == database.Postgres:
		return `'\x0102'`
	case binary:
		return `x'0102'`
	case values[f.name] != "":
		return values[f.name]
	case f.kind == "boolean":
		return "FALSE"
	case f.kind == "integer" || f.kind == "bigint" || f.kind == "smallint":
		return "1"
	case strings.HasPrefix(f.kind, "timestamp"):
		return `'2026-01-02 03:04:05+00:00'`
	}
	return `'one'` // each id and each reference to it
}

// fill adds a row to every table.
func fill(t *testing.T, db *database.DB) {
	t.Helper()
	err := db.Write(t.Context(), func(ctx context.Context) error {
		for table, columns := range byTable(fieldsOf(t, db)) {
			var names, given []string
			for _, c := range columns {
				names, given = append(names, c.name), append(given, c.value(db.Dialect()))
			}
			insert := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(given, ", "))
			if err := db.Conn(ctx).Exec(insert).Error; err != nil {
				return fmt.Errorf("%s: %w", insert, err)
			}
		}
		return nil
	})
	testenv.Must(t, err)
}

// byTable yields tables with their columns in the order of the fields.
func byTable(all []field) func(yield func(string, []field) bool) {
	return func(yield func(string, []field) bool) {
		for len(all) > 0 {
			n := slices.IndexFunc(all, func(f field) bool { return f.table != all[0].table })
			if n < 0 {
				n = len(all)
			}
			if !yield(all[0].table, all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// content is the text of a table's rows, in columns of one version.
type content struct {
	columns []string
	rows    []string
}

func contents(t *testing.T, db *database.DB) map[string]content {
	t.Helper()
	all := map[string]content{}
	for table, columns := range byTable(fieldsOf(t, db)) {
		var names []string
		for _, c := range columns {
			names = append(names, c.name)
		}
		all[table] = content{names, rowsOf(t, db, table, names)}
	}
	return all
}

func rowsOf(t *testing.T, db *database.DB, table string, columns []string) []string {
	t.Helper()
	var parts []string
	for _, c := range columns {
		if db.Dialect() == database.Postgres {
			parts = append(parts, c+"::text")
		} else {
			parts = append(parts, "quote("+c+")")
		}
	}
	query := "SELECT concat_ws('|', " + strings.Join(parts, ", ") + ") FROM " + table
	return lines(t, db, query)
}

func expectRows(t *testing.T, db *database.DB, from string, before map[string]content) {
	t.Helper()
	for table, old := range before {
		if got := rowsOf(t, db, table, old.columns); !slices.Equal(got, old.rows) || len(old.rows) != 1 {
			t.Errorf("from %s, %s has %q, want %q", from, table, got, old.rows)
		}
	}
}
