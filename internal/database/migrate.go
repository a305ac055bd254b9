package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"bellhop/protocol"
)

// Migration is a numbered file and the time it was applied, nil if it was not.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt *time.Time
}

// migrateAttempts bounds the retries on SQLite, which has no advisory lock: of
// two processes that migrate at the same time, one fails, retries and finds
// nothing left to do.
const migrateAttempts = 5

// Migrate applies every file NNNN_name.sql of fsys that is not applied yet, each in
// its own transaction. Several processes may call it at the same time. A database
// that is newer than fsys, half-way between its files, or has others before its first
// one is an error, and is not changed.
func (d *DB) Migrate(ctx context.Context, fsys fs.FS) error {
	return d.withProvider(ctx, fsys, func(p *goose.Provider) error {
		var err error
		for attempt := range migrateAttempts {
			if err = up(ctx, p); err == nil || errors.Is(err, errNewer) || errors.Is(err, errHalfWay) || d.dialect == Postgres {
				break
			}
			if !pause(ctx, attempt) {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("migrate the database: %w", err)
		}
		return nil
	})
}

// MigrationStatus lists the files of fsys in order. Errors are those of Migrate.
func (d *DB) MigrationStatus(ctx context.Context, fsys fs.FS) ([]Migration, error) {
	var list []Migration
	err := d.withProvider(ctx, fsys, func(p *goose.Provider) error {
		if err := checkVersion(ctx, p); err != nil {
			return err
		}
		status, err := p.Status(ctx)
		if err != nil {
			return fmt.Errorf("read the state of migrations: %w", err)
		}
		for _, s := range status {
			m := Migration{Version: s.Source.Version, Name: name(s.Source.Path)}
			if s.State == goose.StateApplied {
				at := s.AppliedAt.UTC()
				m.AppliedAt = &at
			}
			list = append(list, m)
		}
		return nil
	})
	return list, err
}

var (
	errNewer   = errors.New("the database is newer than this bellhop")
	errHalfWay = errors.New("the database is half-way between versions")
)

func up(ctx context.Context, p *goose.Provider) error {
	if err := checkVersion(ctx, p); err != nil {
		return err
	}
	_, err := p.Up(ctx)
	return err
}

// checkVersion refuses a database that is newer than the files, or that lacks one of
// the files before its newest.
func checkVersion(ctx context.Context, p *goose.Provider) error {
	current, target, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > target {
		return fmt.Errorf("%w: it is at version %d, this binary knows %d; run the newer binary, or restore the backup "+
			"made before the upgrade",
			errNewer, current, target)
	}
	status, err := p.Status(ctx)
	if err != nil {
		return fmt.Errorf("read the state of migrations: %w", err)
	}
	for _, s := range status {
		if s.State != goose.StateApplied && s.Source.Version < current {
			return fmt.Errorf("%w: %d (%s) is missing, %d is applied; restore a backup that was made at one version",
				errHalfWay, s.Source.Version, name(s.Source.Path), current)
		}
	}
	return nil
}

func (d *DB) withProvider(ctx context.Context, fsys fs.FS, use func(*goose.Provider) error) (err error) {
	pool, err := d.migrator()
	if err != nil {
		return Fault(err, "database", d.dialect)
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	p, err := d.provider(pool, fsys)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if err := d.refuseEarlier(ctx, pool, p.ListSources()[0]); err != nil {
		return err
	}
	return use(p)
}

// refuseEarlier refuses a database that was made by files before the first one. goose would take it for one that
// lacks files, or apply the first one to its tables.
func (d *DB) refuseEarlier(ctx context.Context, pool *sql.DB, first *goose.Source) error {
	exists := `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '` + goose.DefaultTablename + `'`
	if d.dialect == Postgres {
		exists = `SELECT count(to_regclass('` + goose.DefaultTablename + `'))`
	}
	var tables, version int64
	err := pool.QueryRowContext(ctx, exists).Scan(&tables)
	if err == nil && tables > 0 {
		err = pool.QueryRowContext(ctx, fmt.Sprintf(`SELECT COALESCE(max(version_id), 0) FROM %s WHERE version_id < %d`,
			goose.DefaultTablename, first.Version)).Scan(&version)
	}
	switch {
	case err != nil:
		return Fault(err, "database", d.dialect)
	case version <= 0: // goose's own row has 0
		return nil
	}
	return &protocol.Error{
		Code: protocol.CodeInvalid,
		Message: fmt.Sprintf("The database was made before Bellhop 0.1.0: it has version %d, upgrades begin with %d (%s). "+
			"Nothing was changed", version, first.Version, name(first.Path)),
		Hint: "Start with an empty database, or run the bellhop that made this one",
	}
}

func (d *DB) provider(pool *sql.DB, fsys fs.FS) (*goose.Provider, error) {
	if d.dialect == SQLite {
		return goose.NewProvider(goose.DialectSQLite3, pool, fsys, goose.WithDisableGlobalRegistry(true))
	}
	locking, err := d.locking()
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, pool, fsys, goose.WithDisableGlobalRegistry(true), locking)
}

// locking makes several processes migrate one after the other: by an advisory lock of the
// session, or by a row with a lease, because behind a pooler no session lasts.
func (d *DB) locking() (goose.ProviderOption, error) {
	if d.pooler != PoolerNone {
		locker, err := lock.NewPostgresTableLocker(lock.WithTableLockTimeout(time.Second, 300))
		if err != nil {
			return nil, err
		}
		return goose.WithLocker(locker), nil
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, err
	}
	return goose.WithSessionLocker(locker), nil
}

// name returns the part after the number: "tasks" for 0001_tasks.sql.
func name(file string) string {
	base := strings.TrimSuffix(path.Base(file), ".sql")
	if _, rest, ok := strings.Cut(base, "_"); ok {
		return rest
	}
	return base
}
