package database

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
)

// TimeLeft returns the remaining budget of a context.
func TimeLeft(ctx context.Context) time.Duration {
	left, _ := timeLeft(ctx, time.Hour)
	return left
}

// ErrBreakerOpen is the error of statements while the breaker is open.
var ErrBreakerOpen = errBreakerOpen

// OpenUnbounded opens a database of PostgreSQL without deadlines, budgets and the breaker.
func OpenUnbounded(b *testing.B, url string) *DB {
	b.Helper()
	db, err := Open(b.Context(), url, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	config, _, err := postgresConfig(url, "")
	if err != nil {
		b.Fatal(err)
	}
	plain, err := parsePostgresURL(url)
	if err != nil {
		b.Fatal(err)
	}
	config.DialFunc = plain.DialFunc
	bounded := db.pools[0]
	pool := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(timesInUTC))
	pool.SetMaxOpenConns(bounded.Stats().MaxOpenConnections)
	pool.SetMaxIdleConns(bounded.Stats().MaxOpenConnections)
	db.pools = []*sql.DB{bounded, pool}
	if db.writer, err = db.wrap(postgres.New(postgres.Config{Conn: pool})); err != nil {
		b.Fatal(err)
	}
	db.reader = db.writer
	return db
}
