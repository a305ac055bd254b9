package journal

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// identity returns the journal's id, and gives it one at the first start. It is in the header of the file, where SQLite
// keeps a number for the application, so that no copy of the journal is without it.
func identity(conn *sqlite3.Conn) (string, error) {
	id, err := readIdentity(conn)
	if err != nil {
		return "", err
	}
	if id == 0 {
		var random [4]byte
		_, _ = rand.Read(random[:]) // never fails
		id = int64(binary.BigEndian.Uint32(random[:])>>1) | 1
		if err := conn.Exec(fmt.Sprintf("PRAGMA application_id = %d", id)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%08x", id), nil
}

// readIdentity returns 0 for a journal without an id.
func readIdentity(conn *sqlite3.Conn) (int64, error) {
	stmt, _, err := conn.Prepare("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	defer func() { _ = stmt.Close() }()
	stmt.Step()
	return stmt.ColumnInt64(0), stmt.Err()
}
