package journal

import (
	"bytes"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"bellhop/protocol"
)

//go:embed schema/*.sql
var schemas embed.FS

// firstVersion is the version of the first file in schema/, and the number in its name. Journals with a lower
// version were made before 0.1.0.
const firstVersion = 9

// migrate runs the schema files that the journal does not have yet, each in one
// transaction with its version: the number in the file's name.
func migrate(conn *sqlite3.Conn) error {
	files, err := schemas.ReadDir("schema")
	if err != nil {
		return err
	}
	version, err := userVersion(conn)
	if err != nil {
		return err
	}
	newest := firstVersion + len(files) - 1
	if version > newest {
		return fmt.Errorf("the journal has schema %d, this program knows %d: it was written by a newer one",
			version, newest)
	}
	for next := max(version+1, firstVersion); next <= newest; next++ {
		name := "schema/" + files[next-firstVersion].Name()
		text, err := schemas.ReadFile(name)
		if err != nil {
			return err
		}
		err = conn.Exec("BEGIN IMMEDIATE;" + string(text) + "PRAGMA user_version = " + strconv.Itoa(next) + ";COMMIT")
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func userVersion(conn *sqlite3.Conn) (int, error) {
	stmt, _, err := conn.Prepare("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	defer func() { _ = stmt.Close() }()
	stmt.Step()
	return stmt.ColumnInt(0), stmt.Err()
}

// checkAge refuses a journal that was made before 0.1.0 (CodeConflict). It changes neither the file nor its WAL.
// A damaged file is of no age.
func checkAge(at location) error {
	version, err := headerVersion(at.path)
	if err == nil && version == 0 {
		version, err = walVersion(at)
	}
	switch {
	case damaged(err), errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case version > 0 && version < firstVersion:
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: "The journal " + at.path + " was made before 0.1.0, and cannot be used",
			Hint: "Nothing of before 0.1.0 is upgraded. Move the host's data directory away: the host makes a new one.",
		}
	}
	return nil
}

// Of a database's file: what it begins with, and where the version is.
const (
	sqliteMagic   = "SQLite format 3\x00"
	versionOffset = 60
)

// headerVersion returns the version in the header of a file, 0 if it has none. SQLite would make a WAL to read it.
func headerVersion(path string) (int, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	header := make([]byte, versionOffset+4)
	if _, err := io.ReadFull(file, header); err != nil || !bytes.HasPrefix(header, []byte(sqliteMagic)) {
		return 0, nil // an empty file, or none of SQLite's
	}
	return int(binary.BigEndian.Uint32(header[versionOffset:])), nil
}

// walVersion returns the version of a journal whose file was never written: all of it is in its WAL, because the host
// was killed soon after it had made it. It is 0 without a WAL.
func walVersion(at location) (int, error) {
	if info, err := os.Stat(at.path + "-wal"); err != nil || info.Size() == 0 {
		return 0, nil
	}
	conn, err := sqlite3.Open(at.uri(url.Values{}))
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err != nil { // closing would write the WAL into the file
		return 0, err
	}
	return userVersion(conn)
}
