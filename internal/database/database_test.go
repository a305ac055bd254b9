package database_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

type note struct {
	ID   string `gorm:"primaryKey"`
	Body string
	At   time.Time
}

func (note) TableName() string { return "notes" }

const createNotes = `CREATE TABLE notes (id VARCHAR(40) PRIMARY KEY, body TEXT NOT NULL, at TIMESTAMP NOT NULL)`

func open(t *testing.T, url string, opts database.Options) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func sqliteURL(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "test.db") }

// each runs f on both databases, with a table of notes.
func each(t *testing.T, f func(t *testing.T, db *database.DB)) {
	t.Helper()
	testenv.EachDatabase(t, func(t *testing.T, kind string) {
		f(t, withNotes(t, open(t, testenv.Empty(t, kind), database.Options{})))
	})
}

func withNotes(t *testing.T, db *database.DB) *database.DB {
	t.Helper()
	create := createNotes
	if db.Dialect() == database.Postgres {
		create = strings.Replace(create, "at TIMESTAMP", "at TIMESTAMPTZ", 1)
	}
	if err := db.Write(t.Context(), func(ctx context.Context) error {
		return db.Conn(ctx).Exec(create).Error
	}); err != nil {
		t.Fatal(err)
	}
	return db
}

func insert(ctx context.Context, db *database.DB, id string) error {
	err := db.Conn(ctx).Create(&note{ID: id, Body: "b", At: time.Unix(1, 0)}).Error
	return database.Fault(err, "note", id)
}

func count(t *testing.T, db *database.DB) int64 {
	t.Helper()
	var n int64
	if err := db.Conn(context.WithoutCancel(t.Context())).Model(&note{}).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOpenExplainsErrorsWithoutThePassword(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "file")
	missing := filepath.Join(filepath.Dir(blocked), "missing")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, url, want string
		code            protocol.Code
	}{
		{"no URL", "", "BELLHOP_DATABASE_URL must be postgres://… or sqlite:PATH", protocol.CodeInvalid},
		{
			"an unknown scheme", "mysql://u:hunter2@h/d",
			"BELLHOP_DATABASE_URL must be postgres://… or sqlite:PATH", protocol.CodeInvalid,
		},
		{"a malformed URL", "postgres://u:hunter2@h:port/d", "BELLHOP_DATABASE_URL cannot be read", protocol.CodeInvalid},
		{
			"a password that needs encoding", "postgres://u:hunter2%@h/d",
			"BELLHOP_DATABASE_URL cannot be read", protocol.CodeInvalid,
		},
		{
			"no server listens", "postgres://u:hunter2@127.0.0.1:1/d",
			"the database is not available", protocol.CodeUnavailable,
		},
		{"SQLite without a path", "sqlite:", "needs the path of a file", protocol.CodeInvalid},
		{"SQLite in memory", "sqlite::memory:", "needs the path of a file", protocol.CodeInvalid},
		{"SQLite in no folder", "sqlite:" + missing + "/x.db", "no folder " + missing + " ", protocol.CodeInvalid},
		{"SQLite below a file", "sqlite:" + blocked + "/x.db", "cannot be used", protocol.CodeInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := database.Open(t.Context(), c.url, database.Options{})
			if protocol.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %s: %v", protocol.CodeOf(err), err)
			}
		})
	}
	if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the missing folder: %v", err)
	}
}

func TestASQLiteFileIsReadableByItsOwnerOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a?b#c%20 é.db")
	withNotes(t, open(t, "sqlite:"+path, database.Options{}))
	for _, p := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(p)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", p, info, err)
		}
	}
}

func TestSQLiteIsDurableAndChecksForeignKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, option string
		synchronous  int
	}{{"by default", "", 2}, {"as asked", "normal", 1}} {
		t.Run(c.name, func(t *testing.T) {
			db := open(t, sqliteURL(t), database.Options{Synchronous: c.option})
			err := db.Write(t.Context(), func(ctx context.Context) error {
				var sync, keys int
				var journal string
				if err := errors.Join(
					db.Conn(ctx).Raw("PRAGMA synchronous").Scan(&sync).Error,
					db.Conn(ctx).Raw("PRAGMA foreign_keys").Scan(&keys).Error,
					db.Conn(ctx).Raw("PRAGMA journal_mode").Scan(&journal).Error); err != nil {
					return err
				}
				if sync != c.synchronous || keys != 1 || journal != "wal" {
					t.Errorf("synchronous %d, foreign_keys %d, journal_mode %s", sync, keys, journal)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	_, err := database.Open(t.Context(), sqliteURL(t), database.Options{Synchronous: "sometimes"})
	if protocol.CodeOf(err) != protocol.CodeInvalid {
		t.Errorf("an unknown value: %v", err)
	}
}

func TestTimesKeepMicrosecondsUTCAndOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		base := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		moments := []time.Time{
			base, base.Add(time.Microsecond), base.Add(500 * time.Millisecond),
			base.Add(510 * time.Millisecond), base.Add(time.Second),
		}
		err := db.Write(t.Context(), func(ctx context.Context) error {
			for i, at := range moments {
				elsewhere := at.In(time.FixedZone("x", i*3600))
				if err := db.Conn(ctx).Create(&note{ID: string(rune('e' - i)), At: elsewhere}).Error; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var notes []note
		if err := db.Conn(t.Context()).Where("at >= ?",
			base.In(time.FixedZone("x", 7200))).Order("at").Find(&notes).Error; err != nil {
			t.Fatal(err)
		}
		if len(notes) != len(moments) {
			t.Fatalf("%d notes", len(notes))
		}
		var until int64
		last := moments[2].In(time.FixedZone("x", -7200))
		if err := db.Conn(t.Context()).Model(&note{}).Where("at <= ?", &last).Count(&until).Error; err != nil || until != 3 {
			t.Errorf("%d until then, %v", until, err)
		}
		for i, n := range notes {
			if n.At != moments[i] { // compares the location too
				t.Errorf("%d: %v, want %v", i, n.At, moments[i])
			}
		}
	})
}

func TestNilBytesAreNull(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		var kinds []string
		err := db.Write(t.Context(), func(ctx context.Context) error {
			conn := db.Conn(ctx)
			for _, value := range [][]byte{nil, {0}} {
				var kind string
				if err := conn.Raw(`SELECT CASE WHEN CAST( ? AS `+blobType[db.Dialect()]+`) IS NULL THEN 'null' ELSE 'bytes' END`,
					value).Scan(&kind).Error; err != nil {
					return err
				}
				kinds = append(kinds, kind)
			}
			return nil
		})
		if err != nil || !slices.Equal(kinds, []string{"null", "bytes"}) {
			t.Fatalf("kinds %v, %v", kinds, err)
		}
	})
}

var blobType = map[database.Dialect]string{database.Postgres: "bytea", database.SQLite: "blob"}
