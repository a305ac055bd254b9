package database_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"
	"gorm.io/gorm"

	"bellhop/internal/database"
	"bellhop/internal/testenv"
	"bellhop/internal/testenv/faultproxy"
	"bellhop/protocol"
)

func TestFaultNamesTheKindOfFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		err     error
		code    protocol.Code
		message string
		retry   int
	}{
		{"no row", gorm.ErrRecordNotFound, protocol.CodeNotFound, "task not found", 0},
		{"unique index", fmt.Errorf("x: %w", gorm.ErrDuplicatedKey), protocol.CodeConflict, "task already exists", 0},
		{
			"server shutting down", &pgconn.PgError{Code: "57P01"}, protocol.CodeUnavailable,
			"the database is not available", 1,
		},
		{"lock timeout", &pgconn.PgError{Code: "55P03"}, protocol.CodeUnavailable, "the database is not available", 1},
		{"connection failure", &pgconn.PgError{Code: "08006"}, protocol.CodeUnavailable, "the database is not available", 1},
		{
			"refused", &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}, protocol.CodeUnavailable,
			"the database is not available", 1,
		},
		{"deadline", context.DeadlineExceeded, protocol.CodeUnavailable, "the database is not available", 1},
		{"file locked", sqlite3.BUSY, protocol.CodeUnavailable, "the database is not available", 1},
		{"file system full", sqlite3.FULL, protocol.CodeStorageFull, "the database has no room left", 0},
		{"server's disk full", &pgconn.PgError{Code: "53100"}, protocol.CodeStorageFull, "the database has no room left", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := database.Fault(c.err, "task", 7)
			var fault *protocol.Error
			if !errors.As(err, &fault) || fault.Code != c.code || fault.Message != c.message || fault.RetryAfter != c.retry {
				t.Errorf("got %+v", err)
			}
			if !errors.Is(err, c.err) {
				t.Error("the driver's error is out of reach")
			}
			if text := err.Error(); c.code != protocol.CodeUnavailable && strings.Contains(text, c.err.Error()) {
				t.Errorf("people read the driver's text: %s", text)
			}
		})
	}
	known := protocol.Errorf(protocol.CodeGone, "gone")
	for _, c := range []struct {
		name      string
		err, want error
	}{
		{"nil stays nil", nil, nil},
		{"a known error passes through", known, known},
	} {
		if got := database.Fault(c.err, "task", 7); !errors.Is(got, c.want) || !errors.Is(c.want, got) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	for _, err := range []error{errOops, context.Canceled} {
		got := database.Fault(err, "task", 7)
		if protocol.CodeOf(got) != protocol.CodeInternal || !errors.Is(got, err) || got.Error() != "task 7: "+err.Error() {
			t.Errorf("any other: %v", got)
		}
	}
}

// Each report of a full disk that databases and systems make is storage_full. Other failures of a disk are not.
func TestEveryReportOfAFullDiskIsStorageFull(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want protocol.Code
	}{
		"SQLite's limit of a file":           {sqlite3.FULL, protocol.CodeStorageFull},
		"SQLite could not write":             {sqlite3.IOERR_WRITE, protocol.CodeStorageFull},
		"SQLite's shared memory has no room": {sqlite3.IOERR_SHMSIZE, protocol.CodeStorageFull},
		"the system's error": {
			fmt.Errorf("x: %w", &os.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}), protocol.CodeStorageFull,
		},
		"a quota":            {&os.PathError{Op: "write", Path: "f", Err: syscall.EDQUOT}, protocol.CodeStorageFull},
		"PostgreSQL's state": {&pgconn.PgError{Code: "53100"}, protocol.CodeStorageFull},
		"PostgreSQL's log": {
			&pgconn.PgError{Code: "58030", Message: "could not write: No space left on device"}, protocol.CodeStorageFull,
		},
		"SQLite could not read":   {sqlite3.IOERR_READ, protocol.CodeUnavailable},
		"PostgreSQL's disk fails": {&pgconn.PgError{Code: "58030", Message: "could not read"}, protocol.CodeInternal},
	} {
		if got := protocol.CodeOf(database.Fault(c.err, "task", 7)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRealErrorsOfBothDatabases(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		write := func(fn func(ctx context.Context) error) error { return db.Write(t.Context(), fn) }
		if err := write(func(ctx context.Context) error { return insert(ctx, db, "a") }); err != nil {
			t.Fatal(err)
		}
		err := write(func(ctx context.Context) error { return insert(ctx, db, "a") })
		if protocol.CodeOf(err) != protocol.CodeConflict {
			t.Errorf("insert twice: %v", err)
		}
		var n note
		err = database.Fault(db.Conn(t.Context()).Take(&n, "id = ?", "absent").Error, "note", "absent")
		if protocol.CodeOf(err) != protocol.CodeNotFound {
			t.Errorf("take an absent row: %v", err)
		}
	})
}

func TestAClosedDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"Write": db.Write(t.Context(), func(context.Context) error { return nil }),
			"Read":  db.Read(t.Context(), func(context.Context) error { return nil }),
			"Ping":  db.Ping(t.Context()),
			"Conn":  database.Fault(db.Conn(t.Context()).Exec("SELECT 1").Error, "x", 1),
		} {
			if protocol.CodeOf(err) != protocol.CodeUnavailable {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestValuesOfAQueryStayOutOfErrors(t *testing.T) {
	t.Parallel()
	const canary = "canary-value"
	db := withNotes(t, open(t, testenv.Postgres(t, nil), database.Options{}))
	err := db.Write(t.Context(), func(ctx context.Context) error {
		return errors.Join(insert(ctx, db, canary), insert(ctx, db, canary))
	})
	shown, _ := json.Marshal(map[string]string{"duplicate": err.Error()})
	cast := database.Fault(db.Conn(t.Context()).Exec("SELECT CAST(? AS text)::int", canary).Error, "note", 1)
	length := db.Write(t.Context(), func(ctx context.Context) error { return insert(ctx, db, strings.Repeat("long", 20)) })
	for _, text := range []string{cast.Error(), length.Error()} {
		if strings.Contains(text, canary) {
			t.Errorf("shown: %s", text)
		}
		if !strings.Contains(text, "SQLSTATE 22") {
			t.Errorf("says too little: %s", text)
		}
	}
	// The caller may show the id. It must not show the detail, Key (id)=(…).
	if strings.Contains(string(shown), "Key (id)") {
		t.Errorf("shown: %s", shown)
	}
}

func TestEveryPostgreSQLFailureIsUnavailableAndTemporary(t *testing.T) {
	t.Parallel() // it waits for timeouts, not for the processor
	server := testenv.PostgresServer(t)
	proxy := testenv.NewProxy(t, server.Addr())
	db := withNotes(t, open(t, server.URLVia(proxy.Addr()), database.Options{Patience: 500 * time.Millisecond}))
	for _, c := range []struct {
		name       string
		break_, ok func()
	}{
		{"server stopped", server.Stop, server.Start},
		{"connection refused", func() { proxy.Set(faultproxy.Refuse()) }, func() { proxy.Set(faultproxy.Pass()) }},
		{"connections reset", func() { proxy.Set(faultproxy.Reset()) }, func() { proxy.Set(faultproxy.Pass()) }},
		{"silence", func() { proxy.Set(faultproxy.BlackHole()) }, func() { proxy.Set(faultproxy.Pass()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := db.Write(t.Context(), func(ctx context.Context) error {
				if err := insert(ctx, db, c.name); err != nil {
					return err
				}
				c.break_()
				return insert(ctx, db, c.name+" 2")
			}); protocol.CodeOf(err) != protocol.CodeUnavailable {
				t.Errorf("in the middle: %v", err)
			}
			if err := db.Write(t.Context(), func(ctx context.Context) error {
				return insert(ctx, db, c.name)
			}); protocol.CodeOf(err) != protocol.CodeUnavailable {
				t.Errorf("at the start: %v", err)
			}
			if err := db.Ping(t.Context()); protocol.CodeOf(err) != protocol.CodeUnavailable {
				t.Errorf("ping: %v", err)
			}
			c.ok()
			resumes(t, func() error {
				return db.Write(t.Context(), func(ctx context.Context) error { return insert(ctx, db, c.name) })
			})
		})
	}
}
