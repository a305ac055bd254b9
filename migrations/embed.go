// Package migrations holds the schema of the broker: numbered, forward-only SQL files with the
// same names for each database. internal/database applies them. Each database has its own text,
// because types, collations and JSON functions differ and operators read the applied text; a
// test holds that the results are equivalent.
package migrations

import (
	"embed"
	"io/fs"

	"bellhop/internal/database"
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// For returns the migrations for a database.
func For(dialect database.Dialect) fs.FS {
	sub, err := fs.Sub(files, string(dialect))
	if err != nil { // fails only for a malformed name
		panic(err)
	}
	return sub
}
