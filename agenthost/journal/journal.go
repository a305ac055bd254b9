package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver" // database/sql for the readers

	"bellhop/agenthost"
	"bellhop/internal/database"
	"bellhop/internal/failpoint"
	"bellhop/internal/filelock"
	"bellhop/internal/private"
	"bellhop/protocol"
)

const (
	fileName    = "journal.db"
	readerConns = 4
	// checkedAtOpen is the largest file in bytes that Open checks completely for
	// damage. Reading this much takes about a second.
	checkedAtOpen = 256 << 20
)

// Journal is the open journal of one host.
type Journal struct {
	path    string
	id      string
	notices []string
	readers *sql.DB
	lock    *os.File

	mu     sync.RWMutex // closed must not be set during a send to requests
	closed bool

	requests chan *request
	done     chan struct{}
}

var _ agenthost.Journal = (*Journal)(nil)

// Open opens <dir>/journal.db and creates it if it is missing. A damaged file is
// set aside and reported by Notices; other failures are errors. Only one process
// at a time can have a journal open. CodeConflict: the journal was made before 0.1.0; it is not changed.
func Open(dir string, now time.Time) (*Journal, error) { return openOn("", dir, now) }

// openOn opens a journal on a VFS of SQLite; "" is the operating system's.
func openOn(vfs, dir string, now time.Time) (*Journal, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = private.Dir(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("journal directory: %w", err)
	}
	path := filepath.Join(dir, fileName)
	held, err := lock(filepath.Join(dir, "journal.lock"))
	if err != nil {
		return nil, err
	}
	j, err := open(location{path, vfs}, now)
	if err != nil {
		return nil, errors.Join(err, filelock.Release(held))
	}
	j.lock = held
	return j, nil
}

// location is a file, with the VFS that SQLite uses for it.
type location struct{ path, vfs string }

// uri returns both in the form that SQLite expects.
func (l location) uri(query url.Values) string {
	if l.vfs != "" {
		query.Set("vfs", l.vfs)
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: l.path, RawQuery: query.Encode()}).String()
}

func open(at location, now time.Time) (*Journal, error) {
	path := at.path
	if err := checkAge(at); err != nil {
		return nil, err
	}
	conn, err := openWriter(at)
	if damaged(err) {
		if err := setAside(path, now); err != nil {
			return nil, err
		}
		conn, err = openWriter(at)
	}
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	id, err := identity(conn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open journal: %w", err), conn.Close())
	}
	readers, err := openReaders(at)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("open journal for reading: %w", err)
	}
	if err := keepPrivate(at); err != nil { // the first reads have made the WAL
		return nil, errors.Join(err, readers.Close(), conn.Close())
	}
	j := &Journal{
		path:     path,
		id:       id,
		notices:  notices(path),
		readers:  readers,
		requests: make(chan *request, maxGroup),
		done:     make(chan struct{}),
	}
	go j.write(&writer{conn: conn})
	return j, nil
}

// Notices returns the damaged journals that were set aside and still exist.
func (j *Journal) Notices() []string { return j.notices }

// ID returns what distinguishes the journal from all but its copies.
func (j *Journal) ID() string { return j.id }

// Path returns the path of the journal's file.
func (j *Journal) Path() string { return j.path }

// Close waits for the writes in progress and closes the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	close(j.requests)
	j.mu.Unlock()
	<-j.done
	return errors.Join(j.readers.Close(), filelock.Release(j.lock))
}

func openReaders(at location, pragmas ...string) (*sql.DB, error) {
	pragmas = append(pragmas, "busy_timeout(5000)", "query_only(1)")
	db, err := sql.Open("sqlite3", at.uri(url.Values{"_pragma": pragmas}))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(readerConns)
	db.SetMaxIdleConns(readerConns)
	if err := db.PingContext(context.Background()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// keepPrivate restricts the journal's files to their owner. SQLite makes them with the umask, the
// WAL and its index also again.
func keepPrivate(at location) error {
	return errors.Join(private.File(at.path), private.Existing(at.path+"-wal"), private.Existing(at.path+"-shm"))
}

func openWriter(at location) (_ *sqlite3.Conn, err error) {
	if err := keepPrivate(at); err != nil {
		return nil, err
	}
	info, err := os.Stat(at.path)
	if err != nil {
		return nil, err
	}
	conn, err := sqlite3.Open(at.uri(url.Values{}))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	for _, pragma := range []string{
		"busy_timeout = 5000", "journal_mode = WAL", "synchronous = FULL", "temp_store = MEMORY",
	} {
		if failpoint.Mutated("journal-not-synced") {
			pragma = strings.ReplaceAll(pragma, "FULL", "OFF")
		}
		if err := conn.Exec("PRAGMA " + pragma); err != nil {
			return nil, err
		}
	}
	if info.Size() <= checkedAtOpen {
		if err := check(conn); err != nil {
			return nil, err
		}
	}
	return conn, migrate(conn)
}

// fault translates an error of SQLite into an error of the domain.
func fault(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return &protocol.Error{Code: protocol.CodeNotFound, Message: what + " not found"}
	case database.SQLiteFull(err):
		return &protocol.Error{
			Code: protocol.CodeStorageFull, Message: "The agent host's disk is full",
			Hint: "Make room on the host; nothing that was acknowledged is lost", Err: err,
		}
	default:
		return fmt.Errorf("journal: %s: %w", what, err)
	}
}

// Limit makes writes fail as on a full disk when the file exceeds this many pages
// of 4 KiB. A limit below the current size is raised to it. It applies until Close.
func (j *Journal) Limit(ctx context.Context, pages int) error {
	return j.exec(ctx, func(c *sqlite3.Conn) error { return c.Exec("PRAGMA max_page_count = " + strconv.Itoa(pages)) })
}

// exec runs f in the writer, in a transaction.
func (j *Journal) exec(ctx context.Context, f func(*sqlite3.Conn) error) error {
	return j.send(ctx, &request{raw: f})
}
