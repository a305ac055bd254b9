package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// Pooler names how a pooler between this program and PostgreSQL shares its connections.
type Pooler string

// The poolers. PoolerTransaction gives every transaction another connection to the server, so that
// nothing may outlive a transaction: no settings, no prepared statements, no session's locks.
const (
	PoolerNone        Pooler = ""
	PoolerTransaction Pooler = "transaction"
)

// poolerConnector opens connections to a pooler in transaction mode. Every statement runs in a
// transaction, which begins with the settings that a direct connection gets once.
type poolerConnector struct {
	driver.Connector

	settings string // SET LOCAL …; SET LOCAL …
}

// newPoolerConnector moves the runtime parameters of the configuration, those of the URL included,
// to the transactions. A pooler would refuse them at the start of a connection.
func newPoolerConnector(config *pgx.ConnConfig, options ...stdlib.OptionOpenDB) (*poolerConnector, error) {
	direct := config.Copy()
	settings := maps.Clone(direct.RuntimeParams)
	delete(settings, "application_name")
	defaults(settings, map[string]string{"datestyle": "ISO", "bytea_output": "hex"}) // the forms that are read below
	text, err := setLocal(settings)
	if err != nil {
		return nil, err
	}
	direct.RuntimeParams = map[string]string{}
	direct.DefaultQueryExecMode = pgx.QueryExecModeExec
	direct.StatementCacheCapacity, direct.DescriptionCacheCapacity = 0, 0
	return &poolerConnector{Connector: stdlib.GetConnector(*direct, options...), settings: text}, nil
}

var settingName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.]*$`)

func setLocal(settings map[string]string) (string, error) {
	statements := make([]string, 0, len(settings))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !settingName.MatchString(name) {
			return "", protocol.Errorf(protocol.CodeInvalid, "BELLHOP_DATABASE_URL: %q is not the name of a setting", name)
		}
		value := strings.ReplaceAll(settings[name], "'", "''")
		statements = append(statements, fmt.Sprintf("SET LOCAL %s = '%s'", name, value))
	}
	return strings.Join(statements, "; "), nil
}

// Connect implements driver.Connector.
func (c *poolerConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	direct, ok := conn.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("database: a connection is a %T", conn), conn.Close())
	}
	return &poolerConn{Conn: direct, settings: c.settings}, nil
}

type poolerConn struct {
	*stdlib.Conn

	settings string
}

var (
	_ driver.ConnBeginTx    = (*poolerConn)(nil)
	_ driver.ExecerContext  = (*poolerConn)(nil)
	_ driver.QueryerContext = (*poolerConn)(nil)
)

// BeginTx implements driver.ConnBeginTx.
func (c *poolerConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	if _, err := c.Conn.Conn().Exec(ctx, c.settings); err != nil {
		return nil, rollBack(tx, err)
	}
	return tx, nil
}

// concurrently finds the statements that PostgreSQL refuses inside a transaction: those of migrations that
// build or drop an index while brokers serve. A comment may be before them.
var concurrently = lazyregexp.New(`(?i)^(\s+|--[^\n]*\n)*(CREATE|DROP)\s+(UNIQUE\s+)?INDEX\s+CONCURRENTLY\s`)

// ExecContext implements driver.ExecerContext. A statement that must not be in a transaction is sent alone: the
// pooler keeps one connection to the server for it. It runs with the settings of that connection.
func (c *poolerConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := replaceArrays(args); err != nil {
		return nil, err
	}
	if len(args) == 0 && concurrently.MatchString(query) {
		return c.Conn.ExecContext(ctx, query, args)
	}
	tx, err := c.ownTransaction(ctx)
	if err != nil {
		return nil, err
	}
	result, err := c.Conn.ExecContext(ctx, query, args)
	if err != nil {
		return nil, rollBack(tx, err)
	}
	return result, tx.Commit()
}

// QueryContext implements driver.QueryerContext.
func (c *poolerConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := replaceArrays(args); err != nil {
		return nil, err
	}
	tx, err := c.ownTransaction(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := c.Conn.QueryContext(ctx, query, args)
	if err != nil {
		return nil, rollBack(tx, err)
	}
	return &poolerRows{Rows: rows, conn: c, tx: tx}, nil
}

// ownTransaction begins a transaction for a single statement. Inside a transaction it returns one
// that does nothing.
func (c *poolerConn) ownTransaction(ctx context.Context) (driver.Tx, error) {
	if c.status() != statusIdle {
		return joinedTx{}, nil
	}
	return c.BeginTx(ctx, driver.TxOptions{})
}

// rollBack returns err itself if the rollback succeeds: GORM translates errors by their type.
func rollBack(tx driver.Tx, err error) error {
	if failure := tx.Rollback(); failure != nil {
		return errors.Join(err, failure)
	}
	return err
}

// The states of a connection, as the server reports them.
const (
	statusIdle   = 'I'
	statusFailed = 'E'
)

func (c *poolerConn) status() byte { return c.Conn.Conn().PgConn().TxStatus() }

type joinedTx struct{}

func (joinedTx) Commit() error   { return nil }
func (joinedTx) Rollback() error { return nil }

// poolerRows ends the transaction of its query when it is closed.
type poolerRows struct {
	driver.Rows

	conn *poolerConn
	tx   driver.Tx
}

func (r *poolerRows) Close() error {
	if err := r.Rows.Close(); err != nil || r.conn.status() == statusFailed {
		return errors.Join(err, r.tx.Rollback())
	}
	return r.tx.Commit()
}

// arrayLiteral is an argument that is an array. Without a prepared statement the driver does not
// know the type of its elements, so it is sent as text.
type arrayLiteral interface{ literal() (string, error) }

func replaceArrays(args []driver.NamedValue) error {
	for i := range args {
		array, ok := args[i].Value.(arrayLiteral)
		if !ok {
			continue
		}
		text, err := array.literal()
		if err != nil {
			return err
		}
		args[i].Value = text
	}
	return nil
}
