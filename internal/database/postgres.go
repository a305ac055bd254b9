package database

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"

	"bellhop/protocol"
)

const (
	connectTimeout   = 2 * time.Second
	statementTimeout = "4000" // milliseconds
	lockTimeout      = "1500"
	idleTxTimeout    = "15000" // a broker that disappeared must not keep a task's lock
	answerTimeout    = 5 * time.Second

	// connMaxLifetime makes the pool follow a DNS name that moves to another
	// server.
	connMaxLifetime = 30 * time.Minute
)

func openPostgres(rawURL string, opts Options) (*DB, error) {
	if opts.MaxConns == 0 {
		opts.MaxConns = 20
	}
	if opts.Patience == 0 {
		opts.Patience = 2 * time.Second
	}
	config, unlimited, err := postgresConfig(rawURL, opts.Version)
	if err != nil {
		return nil, err
	}
	if opts.MaxLifetime == 0 {
		opts.MaxLifetime = connMaxLifetime
	}
	generation := &generation{}
	config.OnPgError = generation.onError
	if opts.OnNotice != nil {
		config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { opts.OnNotice(n.Message) }
	}
	pool, err := opts.Pooler.open(config,
		stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
			generation.mark(c)
			return timesInUTC(ctx, c)
		}),
		stdlib.OptionResetSession(generation.check))
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(opts.MaxConns)
	pool.SetMaxIdleConns(opts.MaxConns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	pool.SetConnMaxLifetime(opts.MaxLifetime)
	db := &DB{
		dialect: Postgres, patience: opts.Patience, log: opts.Logger,
		pools: []*sql.DB{pool}, generation: generation, pooler: opts.Pooler,
	}
	plain := config.Copy()
	plain.RuntimeParams = map[string]string{} // a pooler would refuse them
	db.breaker = &breaker{log: opts.Logger, probe: func(ctx context.Context) error {
		if err := probePostgres(ctx, plain); err != nil {
			return err
		}
		generation.next() // while it was unresponsive, any connection of the pool may have broken
		return nil
	}}
	db.migrator = func() (*sql.DB, error) {
		return opts.Pooler.open(unlimited, stdlib.OptionAfterConnect(timesInUTC))
	}
	if db.writer, err = db.wrap(postgres.New(postgres.Config{Conn: &boundedPool{pool, db.breaker}})); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.reader = db.writer
	return db, nil
}

// postgresConfig returns the settings of connections, and those without the server's time limits,
// for migrations.
func postgresConfig(rawURL, version string) (config, unlimited *pgx.ConnConfig, err error) {
	if config, err = parsePostgresURL(rawURL); err != nil {
		return nil, nil, err
	}
	config.ConnectTimeout = connectTimeout
	defaults(config.RuntimeParams, map[string]string{"timezone": "UTC", "application_name": programName(version)})
	unlimited = config.Copy()
	defaults(config.RuntimeParams, map[string]string{
		"statement_timeout":                   statementTimeout,
		"lock_timeout":                        lockTimeout,
		"idle_in_transaction_session_timeout": idleTxTimeout,
	})
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &impatientConn{Conn: c, limit: answerTimeout}, nil
	}
	return config, unlimited, nil
}

// open returns a pool of connections to the server, or to the pooler before it.
func (p Pooler) open(config *pgx.ConnConfig, options ...stdlib.OptionOpenDB) (*sql.DB, error) {
	if p == PoolerNone {
		return stdlib.OpenDB(*config, options...), nil
	}
	connector, err := newPoolerConnector(config, options...)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// parsePostgresURL does not wrap the parser's error, which may quote the URL with its
// password.
func parsePostgresURL(rawURL string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(rawURL)
	if err != nil {
		return nil, &protocol.Error{
			Code:    protocol.CodeInvalid,
			Message: "BELLHOP_DATABASE_URL cannot be read",
			Hint: "it looks like postgres://user:password@host:5432/name?sslmode=require; percent-encode special " +
				"characters in the password",
		}
	}
	return config, nil
}

// probePostgres tests whether the server responds on a new connection.
func probePostgres(ctx context.Context, config *pgx.ConnConfig) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return conn.Ping(ctx)
}

func defaults(params, values map[string]string) {
	for k, v := range values {
		if _, set := params[k]; !set {
			params[k] = v
		}
	}
}

// timesInUTC makes the returned times independent of the machine's time zone.
func timesInUTC(_ context.Context, c *pgx.Conn) error {
	c.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}
