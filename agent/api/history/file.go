package history

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"bellhop/internal/database"
	"bellhop/internal/filelock"
	"bellhop/protocol"
)

const (
	fileName = "history.db"
	// applicationID is in the header of the file and distinguishes it from other databases of SQLite.
	applicationID = 0x62686869 // "bhhi"
	schemaVersion = 1
	// checkedAtOpen is the largest file in bytes that is checked completely for damage.
	checkedAtOpen = 256 << 20

	hint = "Name another directory with --data, or move history.db away: " +
		"the server then begins a new one, and the sessions of the old one are not shown"
)

//go:embed schema.sql
var schema string

// acquire makes a second process on the same directory fail at its start. The system releases
// the lock when the process ends.
func acquire(dir string) (*os.File, error) {
	held, err := os.OpenFile(filepath.Join(dir, "history.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unusable(dir, err)
	}
	if err = filelock.Try(held); err == nil {
		return held, nil
	}
	_ = held.Close()
	return nil, &protocol.Error{
		Code: protocol.CodeConflict, Message: "Another process keeps its history in " + dir,
		Hint: "Give each server a directory of its own", Err: err,
	}
}

func unusable(dir string, err error) error {
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: "The history cannot be kept in " + dir,
		Hint: "The directory must be one that this user can write to", Err: err,
	}
}

// checkHeader refuses a file that is no database of this package. A file without a table is
// accepted: a process that died at its first start left it.
func checkHeader(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unusable(filepath.Dir(path), err)
	}
	defer func() { _ = file.Close() }()
	header := make([]byte, 100)
	n, err := io.ReadFull(file, header)
	switch id := binary.BigEndian.Uint32(header[68:]); {
	case n == 0:
		return nil
	case err != nil, !bytes.HasPrefix(header, []byte("SQLite format 3\x00")):
		return &protocol.Error{Code: protocol.CodeInvalid, Message: path + " is damaged or no database", Hint: hint, Err: err}
	case id != applicationID && id != 0:
		return foreign(path)
	}
	return nil
}

func foreign(path string) error {
	return &protocol.Error{Code: protocol.CodeInvalid, Message: path + " is the database of another program", Hint: hint}
}

// prepare checks the content of the file and creates the tables of a new one.
func (s *Store) prepare(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() <= checkedAtOpen {
		if err := s.check(ctx, path); err != nil {
			return err
		}
	}
	return s.db.Write(ctx, func(ctx context.Context) error { return s.create(ctx, path) })
}

func (s *Store) check(ctx context.Context, path string) error {
	var found string
	err := s.db.Conn(ctx).Raw("PRAGMA quick_check(1)").Scan(&found).Error
	if err == nil && found == "ok" {
		return nil
	}
	return damaged(path, errors.Join(err, errors.New(found)))
}

func damaged(path string, err error) error {
	return &protocol.Error{Code: protocol.CodeInvalid, Message: path + " is damaged", Hint: hint, Err: err}
}

// isDamage reports whether SQLite found a file that it cannot read.
func isDamage(err error) bool {
	return errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB)
}

func (s *Store) create(ctx context.Context, path string) error {
	conn := s.db.Conn(ctx)
	var id, version, tables int64
	for query, target := range map[string]*int64{
		"PRAGMA application_id": &id, "PRAGMA user_version": &version, "SELECT count(*) FROM sqlite_master": &tables,
	} {
		if err := conn.Raw(query).Scan(target).Error; err != nil {
			return fault(err)
		}
	}
	switch {
	case id != applicationID && (id != 0 || tables > 0):
		return foreign(path)
	case version > schemaVersion:
		return &protocol.Error{
			Code:    protocol.CodeInvalid,
			Message: fmt.Sprintf("%s has schema %d, this program knows %d", path, version, schemaVersion),
			Hint:    "A newer bellhop wrote it: run that one",
		}
	case version == schemaVersion:
		return nil
	}
	return fault(conn.Exec(schema + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID,
		schemaVersion)).Error)
}

func fault(err error) error { return database.Fault(err, "history", "") }
