package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"
	"gorm.io/gorm"

	"bellhop/protocol"
)

// Fault turns an error of gorm or a driver into a *protocol.Error about what:
//
//	no such row                         not_found    "<what> not found"
//	unique index                        conflict     "<what> already exists"
//	refused, timed out, closed, locked  unavailable  Retry-After 1
//	disk full                           storage_full
//
// The text of the first two and of a full disk is for people too: it contains
// nothing of gorm or the driver. Other errors, and a canceled context, are wrapped
// with what and id. A *protocol.Error is returned unchanged. The text never
// contains a value of the query; errors.Is and errors.As still find the driver's
// error.
func Fault(err error, what string, id any) error {
	var known *protocol.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	clean := &cleanError{text: fmt.Sprintf("%s %v: %s", what, id, describe(err)), err: err}
	fault := &protocol.Error{Err: clean}
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound), errors.Is(err, sql.ErrNoRows):
		fault.Code, fault.Message = protocol.CodeNotFound, what+" not found"
		clean.text = rowName(id, "no such row")
	case errors.Is(err, gorm.ErrDuplicatedKey):
		fault.Code, fault.Message = protocol.CodeConflict, what+" already exists"
		clean.text = rowName(id, "its key is taken")
	case isFull(err):
		fault.Code, fault.Message = protocol.CodeStorageFull, "the database has no room left"
		clean.text = fmt.Sprintf("%s %v", what, id)
	case errors.Is(err, context.Canceled):
		return clean
	case isUnavailable(err):
		return unavailable(clean)
	default:
		return clean
	}
	return fault
}

// rowName returns the id of a row, or other if it is empty.
func rowName(id any, other string) string {
	if text := fmt.Sprint(id); text != "" {
		return text
	}
	return other
}

func unavailable(err error) error {
	var known *protocol.Error
	if errors.As(err, &known) && known.Code == protocol.CodeUnavailable {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeUnavailable, Message: "the database is not available", RetryAfter: 1, Err: err,
	}
}

// cleanError has a safe text instead of the text of err.
type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }
func (e *cleanError) Unwrap() error { return e.err }

// describe leaves out PostgreSQL's messages about data (class 22), which quote the
// value, and its detail, which quotes the key.
func describe(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err.Error()
	}
	text := "SQLSTATE " + pg.Code
	if !strings.HasPrefix(pg.Code, "22") {
		text = pg.Message + " (" + text + ")"
	}
	if pg.ConstraintName != "" {
		text += ", constraint " + pg.ConstraintName
	}
	return text
}

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// isFull recognizes all reports of a full disk. SQLite reports one as a failed
// write, or as no space for its shared memory; FULL only means a limit on the
// file's size. PostgreSQL has an error code for it, and otherwise reports the
// operating system's text.
func isFull(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "53100" || strings.Contains(pg.Message, "No space left on device")
	}
	return SQLiteFull(err)
}

// SQLiteFull reports whether SQLite found no space on the disk.
func SQLiteFull(err error) bool {
	for _, full := range []error{
		sqlite3.FULL, sqlite3.IOERR_WRITE, sqlite3.IOERR_SHMSIZE, syscall.ENOSPC, syscall.EDQUOT,
	} {
		if errors.Is(err, full) {
			return true
		}
	}
	return false
}

// retryable reports whether err left no change behind and a retry may succeed.
func retryable(err error) bool {
	switch sqlState(err) {
	case "40001", "40P01":
		return true
	}
	return errors.Is(err, sqlite3.BUSY) || errors.Is(err, sqlite3.LOCKED)
}

var unavailableStates = []string{
	"40001", "40P01", // serialization failure, deadlock: after the retries
	"53300",                   // too many connections
	"55P03",                   // lock timeout
	"57014",                   // statement timeout
	"57P01", "57P02", "57P03", // shutting down, crashed, starting
	"25006", // read-only: a standby, or a read-only setting
	"25P03", // idle in transaction too long
}

func isUnavailable(err error) bool {
	if state := sqlState(err); state != "" {
		return strings.HasPrefix(state, "08") || slices.Contains(unavailableStates, state)
	}
	for _, target := range []error{
		driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.DeadlineExceeded,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT,
		sqlite3.BUSY, sqlite3.LOCKED, sqlite3.CANTOPEN, sqlite3.IOERR,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	var dial *pgconn.ConnectError
	var network net.Error
	if errors.As(err, &dial) || errors.As(err, &network) {
		return true
	}
	// database/sql and pgx export no error values for these texts.
	text := err.Error()
	return strings.HasSuffix(text, "sql: database is closed") || strings.HasSuffix(text, "conn closed")
}
