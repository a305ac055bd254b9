package database

import (
	"context"
	"sync"
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
	context.Context //nolint:containedctx // it implements a context

	done   chan struct{}
	once   sync.Once
	err    error // set before done is closed
	timer  *time.Timer
	late   atomic.Bool
	detach func() bool
}

func newStatementWait(parent context.Context, limit time.Duration) wait {
	w := &statementWait{Context: parent, done: make(chan struct{})}
	w.detach = context.AfterFunc(parent, func() { w.end(parent.Err()) })
	w.timer = time.AfterFunc(limit, func() {
		w.late.Store(true)
		w.end(context.DeadlineExceeded)
	})
	return w
}

func (w *statementWait) end(err error) {
	w.once.Do(func() {
		w.err = err
		close(w.done)
	})
}

func (w *statementWait) settle() {
	w.timer.Stop()
	w.detach()
}

func (w *statementWait) isLate() bool { return w.late.Load() }

func (w *statementWait) Done() <-chan struct{} { return w.done }

func (w *statementWait) Err() error {
	select {
	case <-w.done:
		return w.err
	default:
		return nil
	}
}
