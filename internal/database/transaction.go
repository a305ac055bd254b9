package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"
)

// retries is the number of attempts after the first one of a Write.
const retries = 3

type (
	txKey     struct{ db *DB }
	commitKey struct{}
)

type transaction struct {
	gorm     *gorm.DB
	readOnly bool
	failed   error
}

// afterCommit holds the calls registered in one attempt; a retry starts with none.
type afterCommit struct{ calls []func() }

var errSlowBegin = errors.New("no connection in time")

// Write runs fn in one transaction, which fn finds in its context. Inside another
// Write it joins that transaction. It commits when fn returns nil. After a
// deadlock, a serialization failure or a locked file it retries up to 3 times, and
// then fails with protocol.CodeUnavailable. Inside Read it always fails.
func (d *DB) Write(ctx context.Context, fn func(ctx context.Context) error) error {
	if tx := d.transaction(ctx); tx != nil {
		if tx.readOnly {
			return errors.New("database: Write inside Read")
		}
		err := fn(ctx)
		if err != nil && tx.failed == nil {
			tx.failed = err
		}
		return err
	}
	start := time.Now()
	for attempt := 0; ; attempt++ {
		err := d.once(ctx, d.writer, nil, fn)
		if err == nil || !retryable(err) {
			return err
		}
		if attempt == retries || time.Since(start) > d.patience || !pause(ctx, attempt) {
			return unavailable(err)
		}
	}
}

// Read runs fn in a read-only transaction with a consistent view of the data.
// Inside a Write or a Read it joins that transaction. Writers do not wait for it.
func (d *DB) Read(ctx context.Context, fn func(ctx context.Context) error) error {
	if d.transaction(ctx) != nil {
		return fn(ctx)
	}
	opts := &sql.TxOptions{ReadOnly: true}
	if d.dialect == Postgres {
		opts.Isolation = sql.LevelRepeatableRead
	}
	return d.once(ctx, d.reader, opts, fn)
}

// Conn returns the transaction in ctx, or otherwise a session on the reader pool,
// which cannot write on SQLite. Stores have no other way to get a connection.
func (d *DB) Conn(ctx context.Context) *gorm.DB {
	if tx := d.transaction(ctx); tx != nil {
		return tx.gorm.WithContext(ctx)
	}
	return d.reader.WithContext(ctx)
}

// AfterCommit calls fn after the outermost Write of ctx has committed, in the order
// of registration. If that attempt rolls back, fn is not called. Without a Write
// in ctx, fn is called at once. fn must not block.
func AfterCommit(ctx context.Context, fn func()) {
	if after, ok := ctx.Value(commitKey{}).(*afterCommit); ok {
		after.calls = append(after.calls, fn)
		return
	}
	fn()
}

func (d *DB) transaction(ctx context.Context) *transaction {
	tx, _ := ctx.Value(txKey{d}).(*transaction)
	return tx
}

func (d *DB) once(ctx context.Context, pool *gorm.DB, opts *sql.TxOptions, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	session, err := d.begin(ctx, cancel, pool, opts)
	if err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed { // an error or a panic
			_ = session.Rollback().Error
		}
	}()
	tx := &transaction{gorm: session, readOnly: opts != nil}
	after := &afterCommit{}
	inner := context.WithValue(ctx, txKey{d}, tx)
	if !tx.readOnly {
		inner = context.WithValue(inner, commitKey{}, after)
	}
	if err := fn(inner); err != nil {
		return interrupted(ctx, err)
	}
	if tx.failed != nil {
		return fmt.Errorf("a nested transaction failed: %w", tx.failed)
	}
	if err := session.Commit().Error; err != nil {
		return interrupted(ctx, Fault(err, "transaction", "commit"))
	}
	committed = true
	for _, call := range after.calls {
		call()
	}
	return nil
}

// begin limits the wait for a free connection and for the server's first
// response. The context lives as long as the transaction, so a timeout on it
// would limit the whole transaction.
func (d *DB) begin(
	ctx context.Context, cancel context.CancelCauseFunc, pool *gorm.DB, opts *sql.TxOptions,
) (*gorm.DB, error) {
	timer := time.AfterFunc(d.patience, func() { cancel(errSlowBegin) })
	var session *gorm.DB
	if opts == nil {
		session = pool.WithContext(ctx).Begin()
	} else {
		session = pool.WithContext(ctx).Begin(opts)
	}
	onTime := timer.Stop()
	if session.Error == nil && onTime {
		return session, nil
	}
	if !onTime && d.breaker != nil {
		d.breaker.timedOut()
	}
	if session.Error == nil {
		_ = session.Rollback().Error
		return nil, unavailable(errSlowBegin)
	}
	if errors.Is(context.Cause(ctx), errSlowBegin) {
		return nil, unavailable(errors.Join(errSlowBegin, session.Error))
	}
	return nil, interrupted(ctx, Fault(session.Error, "transaction", "begin"))
}

// interrupted wraps the cause of the end of ctx, so that errors.Is finds it; SQLite
// reports only "interrupted".
func interrupted(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// pause waits 10–20 ms, doubled with each attempt, and reports whether ctx is still
// active.
func pause(ctx context.Context, attempt int) bool {
	base := 10 * time.Millisecond << attempt
	timer := time.NewTimer(base + rand.N(base))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
