package database

import (
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/ext/fts5"
	"github.com/ncruces/go-sqlite3/gormlite"

	"bellhop/internal/private"
	"bellhop/protocol"
)

// sqliteTime has a fixed width, so that text order is time order;
// time.RFC3339Nano, the driver's default, drops trailing zeros.
const sqliteTime = "2006-01-02T15:04:05.000000Z07:00"

func openSQLite(path string, opts Options) (*DB, error) {
	opts.Synchronous = strings.ToUpper(opts.Synchronous)
	if opts.Synchronous == "" {
		opts.Synchronous = "FULL"
	}
	if !slices.Contains([]string{"FULL", "NORMAL", "EXTRA", "OFF"}, opts.Synchronous) {
		return nil, protocol.Errorf(protocol.CodeInvalid, "SQLite's synchronous must be FULL, NORMAL, EXTRA or OFF")
	}
	if opts.MaxConns == 0 {
		opts.MaxConns = 4
	}
	if opts.Patience == 0 {
		opts.Patience = 5 * time.Second
	}
	path, err := prepareFile(path)
	if err != nil {
		return nil, err
	}
	db := &DB{dialect: SQLite, patience: opts.Patience, log: opts.Logger, file: path}
	db.migrator = func() (*sql.DB, error) {
		// The driver's own time format, because goose reads times written by
		// SQLite's datetime().
		dsn := sqliteDSN(path, opts.VFS, "", "busy_timeout(30000)", "synchronous(FULL)", "foreign_keys(1)")
		return driver.Open(dsn, fts5.Register)
	}
	common := []string{
		"busy_timeout(2000)", "journal_mode(WAL)", "synchronous(" + opts.Synchronous + ")", "foreign_keys(1)",
	}
	writer, err := driver.Open(sqliteDSN(path, opts.VFS, sqliteTime, common...), fts5.Register)
	if err != nil {
		return nil, Fault(err, "database file", path)
	}
	// One connection: writers queue in Go, in order, instead of polling for the
	// lock of the file.
	writer.SetMaxOpenConns(1)
	reader, err := driver.Open(sqliteDSN(path, opts.VFS, sqliteTime, append(common, "query_only(1)")...), fts5.Register)
	if err != nil {
		return nil, errors.Join(Fault(err, "database file", path), writer.Close())
	}
	reader.SetMaxOpenConns(opts.MaxConns)
	reader.SetMaxIdleConns(opts.MaxConns)
	db.pools = []*sql.DB{writer, reader}
	if db.writer, err = db.wrap(gormlite.OpenDB(&bindingPool{writer})); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if db.reader, err = db.wrap(gormlite.OpenDB(&bindingPool{reader})); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// FilePath returns the absolute path of the file that a URL names, "" for another
// database.
func FilePath(rawURL string) string {
	path, isSQLite := strings.CutPrefix(rawURL, "sqlite:")
	if !isSQLite {
		return ""
	}
	path, err := filepath.Abs(strings.TrimPrefix(path, "//"))
	if err != nil {
		return ""
	}
	return path
}

// sqliteDSN always asks for immediate transactions: a deferred one that reads
// and then writes fails with SQLITE_BUSY at once, whatever busy_timeout says.
func sqliteDSN(path, vfs, timeFormat string, pragmas ...string) string {
	q := url.Values{"modeof": {path}, "_txlock": {"immediate"}, "_timefmt": {timeFormat}, "_pragma": pragmas}
	if vfs != "" {
		q.Set("vfs", vfs)
	}
	query := strings.ReplaceAll(q.Encode(), "+", "%20") // SQLite does not decode a plus as a space
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query}).String()
}

// prepareFile creates the file, readable only by the owner, before SQLite opens it.
// A folder that does not exist is an error: a wrong path would begin an empty
// database. It also creates the -wal and -shm files, which the driver would
// make readable by all users; SQLite treats empty ones as new.
func prepareFile(path string) (string, error) {
	path = strings.TrimPrefix(path, "//")
	if path == "" || strings.HasPrefix(path, ":memory:") || strings.HasPrefix(path, "file:") {
		return "", protocol.Errorf(protocol.CodeInvalid, "sqlite: needs the path of a file, as in sqlite:./bellhop.db")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return "", &protocol.Error{
			Code: protocol.CodeInvalid, Message: "there is no folder " + filepath.Dir(path) + " for the database file", Err: err,
			Hint: "create it for this user only, or name another file: " + urlHint,
		}
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := private.File(name); err != nil {
			return "", unusable(name, err)
		}
	}
	return path, nil
}

func unusable(path string, err error) error {
	e := &protocol.Error{Code: protocol.CodeInvalid, Message: path + " cannot be used as a database file", Err: err}
	if errors.Is(err, fs.ErrPermission) {
		e.Hint = "give this user the file and its folder, or name another file: " + urlHint
	}
	return e
}
