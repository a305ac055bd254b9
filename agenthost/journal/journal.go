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
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver" // database/sql for the readers

	"bellhop/agenthost"
	"bellhop/protocol"
)

const (
	fileName    = "journal.db"
	readerConns = 4
	// checkedAtOpen is up to which size a file is read whole at Open, to find
	// damage before it is relied on. A second for this much is what a start may
	// cost.
	checkedAtOpen = 256 << 20
)

// Journal is the open journal of one host.
type Journal struct {
	path    string
	notices []string
	readers *sql.DB
	lock    *os.File

	mu     sync.RWMutex // guards closed against sends to requests
	closed bool

	requests chan *request
	done     chan struct{}
}

var _ agenthost.Journal = (*Journal)(nil)

// Open opens <dir>/journal.db, making it if there is none. A damaged file is set
// aside and reported by Notices; other failures are errors. One process at a
// time may have a journal open.
func Open(dir string, now time.Time) (*Journal, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("journal directory: %w", err)
	}
	path := filepath.Join(dir, fileName)
	held, err := lock(filepath.Join(dir, "journal.lock"))
	if err != nil {
		return nil, err
	}
	j, err := open(path, now)
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	j.lock = held
	return j, nil
}

func open(path string, now time.Time) (*Journal, error) {
	conn, err := openWriter(path)
	if damaged(err) {
		if err := setAside(path, now); err != nil {
			return nil, err
		}
		conn, err = openWriter(path)
	}
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	readers, err := openReaders(path)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("open journal for reading: %w", err)
	}
	j := &Journal{
		path:     path,
		notices:  notices(path),
		readers:  readers,
		requests: make(chan *request, maxGroup),
		done:     make(chan struct{}),
	}
	go j.write(&writer{conn: conn})
	return j, nil
}

// Notices tell of journals that were set aside, for as long as their files are
// there.
func (j *Journal) Notices() []string { return j.notices }

// Path is the journal's file.
func (j *Journal) Path() string { return j.path }

// Close finishes the writes under way and closes the file.
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
	return errors.Join(j.readers.Close(), j.lock.Close())
}

func openReaders(path string) (*sql.DB, error) {
	uri := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: url.Values{
		"_pragma": {"busy_timeout(5000)", "query_only(1)"},
	}.Encode()}
	db, err := sql.Open("sqlite3", uri.String())
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

func openWriter(path string) (_ *sqlite3.Conn, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite would use the umask
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	conn, err := sqlite3.Open(path)
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

// fault translates an error of SQLite for the domain.
func fault(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return &protocol.Error{Code: protocol.CodeNotFound, Message: what + " not found"}
	case errors.Is(err, sqlite3.FULL), errors.Is(err, sqlite3.IOERR_SHMSIZE):
		return &protocol.Error{
			Code: protocol.CodeStorageFull, Message: "The agent host's disk is full",
			Hint: "Make room on the host; nothing that was acknowledged is lost", Err: err,
		}
	default:
		return fmt.Errorf("journal: %s: %w", what, err)
	}
}

// Limit bounds the file's size in pages of 4 KiB, as a full disk would; the bound
// is never below the present size and lasts until Close.
func (j *Journal) Limit(ctx context.Context, pages int) error {
	return j.exec(ctx, func(c *sqlite3.Conn) error { return c.Exec("PRAGMA max_page_count = " + strconv.Itoa(pages)) })
}

// exec runs f in the writer, in a transaction.
func (j *Journal) exec(ctx context.Context, f func(*sqlite3.Conn) error) error {
	return j.send(ctx, &request{raw: f})
}
