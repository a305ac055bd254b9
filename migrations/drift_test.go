package migrations_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/migrations"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// The two schemas must be equivalent: both accept and reject the same rows. What a database generates by
// itself may differ: PostgreSQL's slots of times, and the index of words, which is a table on SQLite.
func TestNoDriftBetweenTheDatabases(t *testing.T) {
	t.Parallel()
	sqlite := open(t, "sqlite:"+t.TempDir()+"/drift.db")
	postgres := open(t, testenv.Postgres(t, nil))
	for _, c := range []struct{ what, sqlite, postgres string }{
		{"columns: table, name, class of type, nullability", sqliteColumns, postgresColumns},
		{"views: name, columns", sqliteViews, postgresViews},
		{"unique indexes: table, columns, partial or whole", sqliteUnique, postgresUnique},
		{"indexes by name", sqliteIndexes, postgresIndexes},
		{"foreign keys: table, column, target, on delete", sqliteForeign, postgresForeign},
	} {
		t.Run(c.what, func(t *testing.T) {
			a, b := lines(t, sqlite, c.sqlite), lines(t, postgres, c.postgres)
			if len(a) == 0 {
				t.Fatal("nothing to compare")
			}
			for _, line := range a {
				if !slices.Contains(b, line) {
					t.Errorf("only in SQLite: %s", line)
				}
			}
			for _, line := range b {
				if !slices.Contains(a, line) {
					t.Errorf("only in PostgreSQL: %s", line)
				}
			}
		})
	}
}

func TestSameNumberedNames(t *testing.T) {
	t.Parallel()
	var names [2][]string
	for i, dialect := range []database.Dialect{database.SQLite, database.Postgres} {
		entries, err := fs.ReadDir(migrations.For(dialect), ".")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names[i] = append(names[i], e.Name())
		}
	}
	if !slices.Equal(names[0], names[1]) || len(names[0]) == 0 {
		t.Errorf("%v\n%v", names[0], names[1])
	}
}

// Without an index on a foreign key, deleting a target row scans the table.
func TestForeignKeysAreIndexed(t *testing.T) {
	t.Parallel()
	db := open(t, "sqlite:"+t.TempDir()+"/fk.db")
	indexed := lines(t, db, `SELECT m.name || ' ' || i.name FROM sqlite_master m
		JOIN pragma_index_list(m.name) l JOIN pragma_index_info(l.name) i
		WHERE m.type = 'table' AND i.seqno = 0 AND l.partial = 0`)
	for _, key := range lines(t, db,
		`SELECT m.name || ' ' || f."from" FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`) {
		if !slices.Contains(indexed, key) {
			t.Errorf("no index begins with the foreign key %s", key)
		}
	}
}

const (
	sqliteColumns = `SELECT m.name || ' ' || c.name || ' ' || lower(c.type) || ' ' || CASE c."notnull" WHEN 1 THEN 'not null' ELSE 'null' END
		FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'goose%' AND m.name NOT LIKE 'sqlite%' AND m.name NOT LIKE 'search%'`
	postgresColumns = `SELECT table_name || ' ' || column_name || ' ' ||
		CASE data_type WHEN 'bigint' THEN 'integer' WHEN 'bytea' THEN 'blob' WHEN 'timestamp with time zone' THEN 'timestamp'
			WHEN 'tsvector' THEN 'text' ELSE data_type END
		|| ' ' || CASE is_nullable WHEN 'NO' THEN 'not null' ELSE 'null' END
		FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'goose%'
			AND is_generated = 'NEVER'`

	sqliteViews = `SELECT m.name || ' ' || c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'view'`
	postgresViews = `SELECT table_name || ' ' || column_name FROM information_schema.columns
		JOIN information_schema.views USING (table_schema, table_name)
		WHERE table_schema = 'public'`

	sqliteUnique = `SELECT t || ' (' || group_concat(c, ', ') || ') ' || partial FROM (
			SELECT m.name AS t, l.name AS l, l.partial AS partial, i.name AS c FROM sqlite_master m
			JOIN pragma_index_list(m.name) l JOIN pragma_index_info(l.name) i
			WHERE m.type = 'table' AND l."unique" = 1 AND m.name NOT LIKE 'goose%' AND m.name NOT LIKE 'search%'
			ORDER BY m.name, l.name, i.seqno)
		GROUP BY t, l, partial`
	postgresUnique = `SELECT t.relname || ' (' || (SELECT string_agg(a.attname, ', ' ORDER BY k.n)
			FROM unnest(x.indkey) WITH ORDINALITY k(attnum, n) JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum)
			|| ') ' || CASE WHEN x.indpred IS NULL THEN 0 ELSE 1 END
		FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
		WHERE n.nspname = 'public' AND x.indisunique AND t.relname NOT LIKE 'goose%'`

	sqliteIndexes   = `SELECT name FROM sqlite_master WHERE type = 'index' AND name NOT LIKE 'sqlite%'`
	postgresIndexes = `SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE '%\_pkey'
		AND indexdef NOT LIKE '%USING gin%'`

	sqliteForeign = `SELECT m.name || ' ' || f."from" || ' ' || f."table" || ' ' || lower(f.on_delete)
		FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`
	postgresForeign = `SELECT c.conrelid::regclass || ' ' || a.attname || ' ' || c.confrelid::regclass || ' ' ||
		CASE c.confdeltype WHEN 'c' THEN 'cascade' ELSE 'no action' END
		FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] WHERE c.contype = 'f'`
)

func open(t *testing.T, url string) *database.DB {
	t.Helper()
	db, err := database.Open(context.Background(), url, database.Options{Synchronous: "OFF"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 2 { // the second run applies nothing
		if err := db.Migrate(context.Background(), migrations.For(db.Dialect())); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func lines(t *testing.T, db *database.DB, query string) []string {
	t.Helper()
	var all []string
	if err := db.Conn(t.Context()).Raw(query).Scan(&all).Error; err != nil {
		t.Fatal(fmt.Errorf("%s: %w", strings.Fields(query)[0], err))
	}
	return all
}
