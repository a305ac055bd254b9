package database

import (
	"context"
	"slices"
	"strings"
)

// programPrefix begins the name of each program of Bellhop at PostgreSQL; its version follows.
const programPrefix = "bellhop"

// maxName is the longest name of a program that PostgreSQL keeps, in bytes.
const maxName = 63

// programName names a program of a version. PostgreSQL keeps only 63 bytes of ASCII.
func programName(version string) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, strings.TrimSpace(programPrefix+" "+version))
	return name[:min(len(name), maxName)]
}

// Program is a version of Bellhop that has connections to the database.
type Program struct {
	Version   string   // "" if it does not say
	Addresses []string // of its machines, as far as the server shows them
	IsThis    bool     // of the same version as this program
}

// Programs returns the versions that have connections to the database, this program's included. isKnown is false
// where all connections look alike: in SQLite, behind a pooler, and if the database's URL names its program.
func (db *DB) Programs(ctx context.Context) (programs []Program, isKnown bool, err error) {
	if db.dialect != Postgres || db.pooler != PoolerNone {
		return nil, false, nil
	}
	const query = `SELECT application_name, coalesce(host(client_addr), ''),
			application_name = current_setting('application_name')
		FROM pg_stat_activity
		WHERE datname = current_database() AND (application_name = ? OR application_name LIKE ?)
		GROUP BY 1, 2, 3 ORDER BY 1, 2`
	rows, err := db.Conn(ctx).Raw(query, programPrefix, programPrefix+" %").Rows()
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, address string
		var isThis bool
		if err := rows.Scan(&name, &address, &isThis); err != nil {
			return nil, false, err
		}
		version := strings.TrimSpace(strings.TrimPrefix(name, programPrefix))
		if n := len(programs); n == 0 || programs[n-1].Version != version {
			programs = append(programs, Program{Version: version, IsThis: isThis})
		}
		if address != "" {
			last := &programs[len(programs)-1]
			last.Addresses = append(last.Addresses, address)
		}
	}
	isKnown = slices.ContainsFunc(programs, func(p Program) bool { return p.IsThis })
	return programs, isKnown, rows.Err()
}
