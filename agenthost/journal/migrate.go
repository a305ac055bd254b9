package journal

import (
	"embed"
	"fmt"
	"strconv"

	"github.com/ncruces/go-sqlite3"
)

//go:embed schema/*.sql
var schemas embed.FS

// migrate runs the schema files that the journal does not have yet, each in one
// transaction with its version: the number of the file, counted from 1.
func migrate(conn *sqlite3.Conn) error {
	files, err := schemas.ReadDir("schema")
	if err != nil {
		return err
	}
	version, err := userVersion(conn)
	if err != nil {
		return err
	}
	if version > len(files) {
		return fmt.Errorf("the journal has schema %d, this program knows %d: it was written by a newer one",
			version, len(files))
	}
	for i, file := range files[version:] {
		text, err := schemas.ReadFile("schema/" + file.Name())
		if err != nil {
			return err
		}
		next := strconv.Itoa(version + i + 1)
		if err := conn.Exec("BEGIN IMMEDIATE;" + string(text) + "PRAGMA user_version = " + next + ";COMMIT"); err != nil {
			return fmt.Errorf("schema %s: %w", file.Name(), err)
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
