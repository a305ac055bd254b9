// Package migrations holds the schema of the broker: numbered, forward-only SQL
// with the same file names for each database. It applies nothing itself;
// internal/database does.
package migrations

import (
	"embed"
	"io/fs"

	"bellhop/internal/database"
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// For returns the migrations of a dialect.
func For(dialect database.Dialect) fs.FS {
	sub, err := fs.Sub(files, string(dialect))
	if err != nil { // only a malformed name fails
		panic(err)
	}
	return sub
}
