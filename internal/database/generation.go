package database

import (
	"context"
	"database/sql/driver"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// serverGone are the errors after which all connections to the same server are
// useless: it is read-only (25006), was shut down (57P01), has crashed (57P02) or
// is starting (57P03). A new connection may reach another server, or the same one
// with other settings.
var serverGone = []string{"25006", "57P01", "57P02", "57P03"}

// generation drops all connections of a pool at once: a connection of an older
// generation is closed when it is taken from the pool.
type generation struct{ current atomic.Int64 }

const generationKey = "bellhop.generation"

func (g *generation) next() { g.current.Add(1) }

// mark records the generation of a new connection.
func (g *generation) mark(c *pgx.Conn) { c.PgConn().CustomData()[generationKey] = g.current.Load() }

// check runs before a connection of the pool is used again.
func (g *generation) check(_ context.Context, c *pgx.Conn) error {
	if c.PgConn().CustomData()[generationKey] != g.current.Load() {
		return driver.ErrBadConn
	}
	return nil
}

// onError closes the connection after a fatal error, as pgx does by itself, and
// every other connection too if the error is in serverGone.
func (g *generation) onError(c *pgconn.PgConn, err *pgconn.PgError) bool {
	gone := slices.Contains(serverGone, err.Code)
	if gone && c.CustomData()[generationKey] == g.current.Load() {
		g.next()
	}
	return !gone && err.SeverityUnlocalized != "FATAL"
}
