package database

import (
	"context"
	"sync/atomic"
	"time"
)

// wait is a context that ends when the wait for the database takes too long.
type wait interface {
	context.Context

	settle()      // the response has arrived: the timer stops
	isLate() bool // the timer ended the context
}

// txWait still ends with its parent after settle, so that a transaction is rolled
// back when the caller's context ends. It stays registered with its parent until
// then; Write and Read end it with the transaction.
type txWait struct {
	context.Context //nolint:containedctx // it implements a context

	timer *time.Timer
	late  atomic.Bool
}

func newTxWait(parent context.Context, limit time.Duration) wait {
	w := &txWait{}
	ctx, cancel := context.WithCancelCause(parent)
	w.Context = ctx
	w.timer = time.AfterFunc(limit, func() {
		w.late.Store(true)
		cancel(context.DeadlineExceeded)
	})
	return w
}

func (w *txWait) settle()      { w.timer.Stop() }
func (w *txWait) isLate() bool { return w.late.Load() }

// statementWait ends with its parent or by its timer. After settle it ends by
// neither, so that the rows can be read. Unlike a context of the standard library
// it leaves nothing registered in its parent although it is never canceled, because
// the rows of a statement do not report their end.
type statementWait struct {
	context.Context //nolint:containedctx // the parent, for its values and deadline

	own    context.Context //nolint:containedctx // it implements a context
	timer  *time.Timer
	late   atomic.Bool
	detach func() bool
}

func newStatementWait(parent context.Context, limit time.Duration) wait {
	own, end := context.WithCancelCause(context.Background())
	w := &statementWait{Context: parent, own: own}
	w.detach = context.AfterFunc(parent, func() { end(parent.Err()) })
	w.timer = time.AfterFunc(limit, func() {
		w.late.Store(true)
		end(context.DeadlineExceeded)
	})
	return w
}

func (w *statementWait) settle() {
	w.timer.Stop()
	w.detach()
}

func (w *statementWait) isLate() bool { return w.late.Load() }

func (w *statementWait) Done() <-chan struct{} { return w.own.Done() }

func (w *statementWait) Err() error { return context.Cause(w.own) }

// AfterFunc is what context.AfterFunc and the derived contexts of database/sql and pgx
// call. Without it each of them would start a goroutine that waits for Done.
func (w *statementWait) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(w.own, f) }
