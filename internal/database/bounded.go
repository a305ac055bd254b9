package database

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"time"

	"gorm.io/gorm"
)

// statementLimit limits the wait for one statement: for a free connection, for the
// detection of dead connections, and for the first response.
const statementLimit = 5 * time.Second

// boundedPool limits how long a request waits for PostgreSQL, even if many
// connections of the pool are dead. It asks the breaker first.
type boundedPool struct {
	*sql.DB

	breaker *breaker
}

// boundedTx is a transaction of a boundedPool.
type boundedTx struct {
	*sql.Tx

	breaker *breaker
}

var (
	_ gorm.ConnPoolBeginner = (*boundedPool)(nil)
	_ gorm.GetDBConnector   = (*boundedPool)(nil)
	_ gorm.TxCommitter      = (*boundedTx)(nil)
)

func (p *boundedPool) GetDBConn() (*sql.DB, error) { return p.DB, nil }

func (p *boundedPool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	var tx *sql.Tx
	err := boundedCall(ctx, p.breaker, newTxWait, func(wait context.Context) (err error) {
		tx, err = p.DB.BeginTx(wait, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &boundedTx{tx, p.breaker}, nil
}

func (p *boundedPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return boundedExec(ctx, p.breaker, p.DB, query, args)
}

func (p *boundedPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return boundedQuery(ctx, p.breaker, p.DB, query, args)
}

func (p *boundedPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return boundedQueryRow(ctx, p.breaker, p.DB, query, args)
}

func (t *boundedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return boundedExec(ctx, t.breaker, t.Tx, query, args)
}

func (t *boundedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return boundedQuery(ctx, t.breaker, t.Tx, query, args)
}

func (t *boundedTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return boundedQueryRow(ctx, t.breaker, t.Tx, query, args)
}

// querier is the common interface of a pool and a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func boundedExec(ctx context.Context, b *breaker, q querier, query string, args []any) (result sql.Result, err error) {
	err = bounded(ctx, b, func(wait context.Context) (err error) {
		result, err = q.ExecContext(wait, query, args...)
		return err
	})
	return result, err
}

func boundedQuery(ctx context.Context, b *breaker, q querier, query string, args []any) (rows *sql.Rows, err error) {
	err = bounded(ctx, b, func(wait context.Context) (err error) {
		rows, err = q.QueryContext(wait, query, args...) //nolint:rowserrcheck,sqlclosecheck // the caller does both
		return err
	})
	if err != nil { // a late response may still have rows
		if rows != nil {
			_ = rows.Close()
		}
		return nil, err
	}
	return rows, nil
}

// boundedQueryRow cannot return an error of its own, because only database/sql can
// create a row. While the breaker is open it queries with an ended context, which
// fails at once with that context's error.
func boundedQueryRow(ctx context.Context, b *breaker, q querier, query string, args []any) (row *sql.Row) {
	err := bounded(ctx, b, func(wait context.Context) error {
		row = q.QueryRowContext(wait, query, args...)
		return row.Err()
	})
	if row == nil {
		ended, cancel := context.WithCancelCause(ctx)
		cancel(err)
		row = q.QueryRowContext(refusedContext{ended}, query, args...)
	}
	return row
}

// refusedContext is an ended context: the database is not available.
type refusedContext struct{ context.Context }

func (refusedContext) Err() error { return context.DeadlineExceeded }

func bounded(ctx context.Context, b *breaker, call func(context.Context) error) error {
	return boundedCall(ctx, b, newStatementWait, call)
}

// boundedCall calls the database with a context that ends when the budget of ctx is
// used up. It then returns protocol.CodeUnavailable.
func boundedCall(
	ctx context.Context, b *breaker, newWait func(context.Context, time.Duration) wait, call func(context.Context) error,
) error {
	if err := b.allow(); err != nil {
		return unavailable(err)
	}
	limit, budget := timeLeft(ctx, statementLimit)
	if limit <= 0 {
		return unavailable(errors.New("the request has waited for it long enough"))
	}
	w := newWait(ctx, limit)
	start := time.Now()
	err := call(w)
	w.settle()
	budget.spend(time.Since(start))
	switch {
	case w.isLate() && err == nil: // the context ended while the response arrived
		err = context.DeadlineExceeded
		fallthrough
	case w.isLate(), err != nil && ctx.Err() == nil && isTimeout(err):
		b.timedOut()
		return unavailable(err)
	case ctx.Err() == nil:
		b.answered()
	}
	return err
}

// isTimeout reports whether the server sent nothing in time. An error about the
// server's own time limits is a response.
func isTimeout(err error) bool {
	var network net.Error
	return sqlState(err) == "" &&
		(errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout())
}
