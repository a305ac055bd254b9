package database

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	"gorm.io/gorm"

	"bellhop/protocol"
)

// Dialect names a database and the folder of its migrations.
type Dialect string

// The supported databases.
const (
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite"
)

// Options of Open. The zero value is for production.
type Options struct {
	Logger      *slog.Logger  // default: discard
	MaxConns    int           // PostgreSQL connections (default 20) or SQLite readers (default 4)
	Synchronous string        // SQLite: FULL (default), NORMAL, EXTRA or OFF
	VFS         string        // SQLite: a registered VFS; "" means the operating system's
	Patience    time.Duration // longest wait for a transaction to begin: default 2 s, SQLite 5 s
	MaxLifetime time.Duration // of a connection to PostgreSQL: default 30 min
	Pooler      Pooler        // PostgreSQL: a pooler between this program and the server
	Version     string        // of this program: PostgreSQL shows it with each connection; "" for none

	OnNotice func(message string) // PostgreSQL: receives the server's notices; may be nil
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	dialect  Dialect
	writer   *gorm.DB // SQLite: one connection
	reader   *gorm.DB // PostgreSQL: the same as writer
	pools    []*sql.DB
	patience time.Duration
	log      *slog.Logger
	breaker  *breaker // nil on SQLite
	file     string   // SQLite: the path

	generation *generation // PostgreSQL: of the connections

	// migrator opens a pool without the time limits of the other pools.
	migrator func() (*sql.DB, error)

	pooler Pooler
}

const urlHint = "BELLHOP_DATABASE_URL must be postgres://… or sqlite:PATH"

// Open connects to a postgres:// or postgresql:// URL or to sqlite:PATH. A missing
// SQLite file is created for its owner only, in a folder that exists. Errors state the remedy and never
// contain the password.
func Open(ctx context.Context, url string, opts Options) (*DB, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	path, isSQLite := strings.CutPrefix(url, "sqlite:")
	var db *DB
	var err error
	switch {
	case isSQLite && opts.Pooler != PoolerNone:
		return nil, protocol.Errorf(protocol.CodeInvalid,
			"BELLHOP_DATABASE_POOLER is for PostgreSQL, and BELLHOP_DATABASE_URL names a file of SQLite")
	case isSQLite:
		db, err = openSQLite(path, opts)
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		db, err = openPostgres(url, opts)
	case url == "":
		return nil, protocol.Errorf(protocol.CodeInvalid, "no database: %s", urlHint)
	default:
		return nil, protocol.Errorf(protocol.CodeInvalid, urlHint)
	}
	if err != nil {
		return nil, err
	}
	if err := db.connect(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// connect makes the first connections and retries two transient failures of SQLite.
// SQLite does not wait for a lock while it switches a new file to WAL, so two
// processes that start together may collide. And opening a file fails with an I/O
// error while the last process that uses it removes the -wal and -shm files.
func (d *DB) connect(ctx context.Context) error {
	start := time.Now()
	for attempt := 0; ; attempt++ {
		err := d.Ping(ctx)
		passing := retryable(err) || d.dialect == SQLite && errors.Is(err, sqlite3.IOERR)
		if err == nil || !passing || time.Since(start) > d.patience || !pause(ctx, min(attempt, retries)) {
			return err
		}
	}
}

// Dialect returns the kind of the database.
func (d *DB) Dialect() Dialect { return d.dialect }

// Pools returns the connection pools by name: writer and, on SQLite, reader.
func (d *DB) Pools() map[string]*sql.DB {
	names, pools := []string{"writer", "reader"}, map[string]*sql.DB{}
	for i, pool := range d.pools {
		pools[names[i]] = pool
	}
	return pools
}

// Close closes every connection.
func (d *DB) Close() error {
	if d.breaker != nil {
		d.breaker.close()
	}
	var all []error
	for _, pool := range d.pools {
		all = append(all, pool.Close())
	}
	return errors.Join(all...)
}

// Ping reports whether the database responds within Options.Patience.
func (d *DB) Ping(ctx context.Context) error {
	if d.breaker != nil {
		if err := d.breaker.allow(); err != nil {
			return unavailable(err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	for _, pool := range d.pools {
		if err := pool.PingContext(ctx); err != nil {
			return Fault(interrupted(ctx, err), "database", d.dialect)
		}
	}
	return nil
}

func (d *DB) wrap(dialector gorm.Dialector) (*gorm.DB, error) {
	return gorm.Open(dialector, &gorm.Config{
		SkipDefaultTransaction: true,
		TranslateError:         true,
		DisableAutomaticPing:   true,
		Logger:                 &queryLogger{log: d.log},
		NowFunc:                now,
	})
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
