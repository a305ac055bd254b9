package database

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgresFingerprint lists what distinguishes copies of a database, from the
// server down to the table. A user without privileges may read all of it.
// pg_control_checkpoint would name the old timeline until the first checkpoint
// after a promotion; the name of the present WAL file begins with the new one.
var postgresFingerprint = []string{
	`SELECT system_identifier::text FROM pg_control_system()`, // another after initdb
	// The timeline changes with a promotion or a point-in-time recovery.
	`SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`,
	`SELECT oid::text FROM pg_database WHERE datname = current_database()`, // another after CREATE DATABASE
	`SELECT to_regclass('incarnations')::oid::text`,                        // another after pg_restore --clean
}

// notOffered are errors of servers that do not offer a function, such as hosted
// ones: undefined function, no privilege, not supported.
var notOffered = []string{"42883", "42501", "0A000"}

// Fingerprint identifies the copy of the data that this database is. It changes
// when a backup is restored in its place or a standby is promoted; restarts of
// the server and of this program do not change it. Copies that it cannot
// distinguish: a file of SQLite that was overwritten in place, and a PostgreSQL
// data directory that was replaced by a snapshot of itself.
func (d *DB) Fingerprint(ctx context.Context) (string, error) {
	if d.dialect == SQLite {
		return fileFingerprint(d.file)
	}
	var parts []string
	for _, query := range postgresFingerprint {
		part, err := d.fingerprintPart(ctx, query)
		if err != nil {
			return "", Fault(err, "fingerprint", d.dialect)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "/"), nil
}

func (d *DB) fingerprintPart(ctx context.Context, query string) (string, error) {
	var part sql.NullString
	err := d.Conn(ctx).Raw(query).Row().Scan(&part)
	if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) && slices.Contains(notOffered, pg.Code) {
		return "", nil
	}
	return part.String, err
}

// Reconnect drops all connections to PostgreSQL: each is closed when it is taken
// from the pool. Another server may answer at the same address.
func (d *DB) Reconnect() {
	if d.generation != nil {
		d.generation.next()
	}
}
