package database_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/internal/database"
	"bellhop/internal/table"
	"bellhop/internal/testenv"
	"bellhop/migrations"
	"bellhop/protocol"
)

// unusual changes every setting of a database that decides how values are written as text.
var unusual = []string{
	"datestyle = 'SQL, DMY'", "timezone = 'Asia/Kathmandu'", "bytea_output = 'escape'", "intervalstyle = 'iso_8601'",
}

// unusualPostgres returns the URLs of a database with unusual settings: of the server, and through PgBouncer.
func unusualPostgres(t *testing.T) (direct, pooled string) {
	t.Helper()
	direct = testenv.Postgres(t, nil)
	for _, setting := range unusual {
		setting = strings.ReplaceAll(setting, "'", "''")
		directly(t, direct, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "+setting+"', current_database()); END $$")
	}
	return direct, testenv.PgBouncer(t, direct)
}

func directly(t *testing.T, url, sql string) (result string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if strings.HasPrefix(sql, "SHOW") {
		err = conn.QueryRow(t.Context(), sql, pgx.QueryExecModeSimpleProtocol).Scan(&result)
	} else {
		_, err = conn.Exec(t.Context(), sql)
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// every is a row of every type that tables have.
type every struct {
	ID   string
	N    int64
	Yes  bool
	Raw  []byte
	At   time.Time
	Late *time.Time
}

var everyTable = table.New("everything",
	table.Text("id", func(r *every) *string { return &r.ID }).Key(),
	table.Integer("n", func(r *every) *int64 { return &r.N }),
	table.Bool("yes", func(r *every) *bool { return &r.Yes }),
	table.Bytes("raw", func(r *every) *[]byte { return &r.Raw }),
	table.Time("at", func(r *every) *time.Time { return &r.At }),
	table.OptionalTime("late", func(r *every) **time.Time { return &r.Late }),
)

const createEverything = `CREATE TABLE everything (
	id text PRIMARY KEY, n bigint, yes boolean, raw bytea, at timestamptz, late timestamptz)`

func TestAnyDateStyleAndPgBouncerGiveTheSameValues(t *testing.T) {
	t.Parallel()
	direct, pooled := unusualPostgres(t)
	for name, c := range map[string]struct {
		url  string
		opts database.Options
	}{"direct": {direct, database.Options{}}, "pooled": {pooled, database.Options{Pooler: database.PoolerTransaction}}} {
		t.Run(name, func(t *testing.T) {
			db := open(t, c.url, c.opts)
			directly(t, direct, "DROP TABLE IF EXISTS everything")
			directly(t, direct, createEverything)
			late := time.Date(2026, 4, 3, 2, 1, 0, 123_000, time.UTC)
			rows := []every{
				{
					ID: `a "quoted", {bracketed} \ text`, N: -5, Yes: true, Raw: []byte{0, 255, '\\', '"'},
					At: late.Add(-time.Hour), Late: &late,
				},
				{ID: "b", Raw: []byte{}, At: time.Date(1999, 12, 11, 10, 9, 8, 7_000, time.UTC)},
			}
			insert := everyTable.Insert(rows[0])
			if err := db.Run(t.Context(), "row", 1, insert); err != nil {
				t.Fatal(err)
			}
			args := database.AppendArrays(nil, everyTable.Columns, []*every{&rows[1]})
			unnest := "INSERT INTO everything SELECT * FROM " + table.Unnest("v", 1, everyTable.Columns)
			if _, err := db.Exec(t.Context(), "rows", 1, unnest, args...); err != nil {
				t.Fatal(err)
			}
			got, err := database.Find(t.Context(), db, everyTable, "row", 1, "WHERE at < ? ORDER BY at DESC", late)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprint(dereferenced(got)), fmt.Sprint(dereferenced(rows)); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// dereferenced replaces pointers, which print as addresses.
func dereferenced(rows []every) (all []any) {
	for _, r := range rows {
		late := ""
		if r.Late != nil {
			late = r.Late.String()
		}
		all = append(all, []any{r.ID, r.N, r.Yes, r.Raw, r.At.String(), late})
	}
	return all
}

func TestTransactionsBehindPgBouncerHaveTheirOwnLimits(t *testing.T) {
	t.Parallel()
	_, pooled := unusualPostgres(t)
	db := open(t, pooled+"&statement_timeout=300", database.Options{Pooler: database.PoolerTransaction})
	show := func(ctx context.Context, name string) (value string) {
		t.Helper()
		if err := db.Conn(ctx).Raw("SELECT current_setting(?)", name).Row().Scan(&value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	check := func(ctx context.Context) error {
		for name, want := range map[string]string{
			"statement_timeout": "300ms", "lock_timeout": "1500ms", "idle_in_transaction_session_timeout": "15s",
			"timezone": "UTC", "datestyle": "ISO, DMY",
		} {
			if got := show(ctx, name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		return nil
	}
	_ = check(t.Context())
	for _, begin := range []func(context.Context, func(context.Context) error) error{db.Read, db.Write} {
		if err := begin(t.Context(), check); err != nil {
			t.Error(err)
		}
	}
	if got := directly(t, pooled, "SHOW statement_timeout"); got != "0" {
		t.Errorf("a limit of one transaction reached another client: %s", got)
	}
	err := database.Fault(db.Conn(t.Context()).Exec("SELECT pg_sleep(30)").Error, "x", 1)
	if protocol.CodeOf(err) != protocol.CodeUnavailable {
		t.Errorf("a slow statement: %v", err)
	}
	if got := show(t.Context(), "timezone"); got != "UTC" { // the connection is usable after a failure
		t.Error(got)
	}
}

// Twelve clients share two connections to the server.
func TestManyClientsShareTheConnectionsOfPgBouncer(t *testing.T) {
	t.Parallel()
	direct, pooled := unusualPostgres(t)
	directly(t, direct, createEverything)
	var clients sync.WaitGroup
	for i := range 12 {
		db := open(t, pooled, database.Options{Pooler: database.PoolerTransaction, MaxConns: 2, Patience: 20 * time.Second})
		clients.Go(func() {
			for n := range 20 {
				if err := addAndRead(t.Context(), db, fmt.Sprintf("%d-%d", i, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	db := open(t, pooled, database.Options{Pooler: database.PoolerTransaction})
	all, err := database.Find(t.Context(), db, everyTable, "row", 1, "")
	if err != nil || len(all) != 12*20 {
		t.Errorf("%d rows, %v", len(all), err)
	}
}

// addAndRead writes a row in a transaction of two statements and reads it outside of any.
func addAndRead(ctx context.Context, db *database.DB, id string) error {
	err := db.Write(ctx, func(ctx context.Context) error {
		if err := db.Run(ctx, "row", id, everyTable.Insert(every{ID: id, Raw: []byte(id), At: time.Unix(1, 0)})); err != nil {
			return err
		}
		return db.ExecOne(ctx, "row", id, "UPDATE everything SET n = n + ? WHERE id = ?", 7, id)
	})
	if err != nil {
		return err
	}
	got, err := database.FindOne(ctx, db, everyTable, "row", id, "WHERE id = ?", id)
	if err == nil && (got.N != 7 || string(got.Raw) != id) {
		err = fmt.Errorf("got %+v", got)
	}
	return err
}

func TestProcessesMigrateOneAfterTheOtherBehindPgBouncer(t *testing.T) {
	t.Parallel()
	_, pooled := unusualPostgres(t)
	var brokers sync.WaitGroup
	for range 3 {
		db := open(t, pooled, database.Options{Pooler: database.PoolerTransaction})
		brokers.Go(func() {
			if err := db.Migrate(t.Context(), migrations.For(db.Dialect())); err != nil {
				t.Error(err)
			}
		})
	}
	brokers.Wait()
	db := open(t, pooled, database.Options{Pooler: database.PoolerTransaction})
	applied, err := db.MigrationStatus(t.Context(), migrations.For(db.Dialect()))
	for _, m := range applied {
		if m.AppliedAt == nil {
			t.Errorf("%s is not applied", m.Name)
		}
	}
	if err != nil || len(applied) == 0 {
		t.Errorf("%d migrations, %v", len(applied), err)
	}
}

// A migration may build an index beside the brokers that serve, which PostgreSQL does in no transaction.
func TestAMigrationBuildsAnIndexConcurrentlyBehindPgBouncer(t *testing.T) {
	t.Parallel()
	_, pooled := unusualPostgres(t)
	db := open(t, pooled, database.Options{Pooler: database.PoolerTransaction})
	index := files(first...)
	index["0002_index.sql"] = &fstest.MapFile{Data: []byte("-- +goose NO TRANSACTION\n-- +goose Up\n" +
		"-- Found by their time.\nCREATE INDEX CONCURRENTLY IF NOT EXISTS notes_at ON notes (at);\n")}
	testenv.Must(t, db.Migrate(t.Context(), index))
	var valid bool
	testenv.Must(t, db.Conn(t.Context()).Raw(`SELECT indisvalid FROM pg_index WHERE indexrelid = 'notes_at'::regclass`).
		Row().Scan(&valid))
	if !valid {
		t.Error("the index is not complete")
	}
}

func TestAPoolerIsOnlyForPostgreSQL(t *testing.T) {
	t.Parallel()
	_, err := database.Open(t.Context(), sqliteURL(t), database.Options{Pooler: database.PoolerTransaction})
	if err == nil || !strings.Contains(err.Error(), "BELLHOP_DATABASE_POOLER") {
		t.Errorf("%v", err)
	}
	pooled := database.Options{Pooler: database.PoolerTransaction}
	_, err = database.Open(t.Context(), testenv.Postgres(t, nil)+"&x%20y=1", pooled)
	if err == nil || !strings.Contains(err.Error(), `"x y"`) {
		t.Errorf("%v", err)
	}
}
