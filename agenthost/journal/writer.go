package journal

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"bellhop/agenthost"
)

// maxGroup limits how many requests share a commit, and therefore how long the
// first of them waits.
const maxGroup = 256

var errClosed = errors.New("journal: closed")

type request struct {
	write *agenthost.Write
	raw   func(*sqlite3.Conn) error
	err   error
	done  chan struct{}
}

// Write makes w durable. Once w is queued it ignores the end of ctx, because the
// caller must learn whether w was written.
func (j *Journal) Write(ctx context.Context, w *agenthost.Write) error {
	return j.send(ctx, &request{write: w})
}

func (j *Journal) send(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.done = make(chan struct{})
	j.mu.RLock()
	if j.closed {
		j.mu.RUnlock()
		return errClosed
	}
	j.requests <- r
	j.mu.RUnlock()
	<-r.done
	return r.err
}

// write is the only goroutine that writes. It ends when requests is closed.
func (j *Journal) write(w *writer) {
	defer close(j.done)
	defer w.close()
	for first := range j.requests {
		group := w.group[:0]
		group = append(group, first)
	collect:
		for len(group) < maxGroup {
			select {
			case r, ok := <-j.requests:
				if !ok {
					break collect
				}
				group = append(group, r)
			default:
				break collect
			}
		}
		w.commit(group)
		for i, r := range group {
			close(r.done)
			group[i] = nil
		}
		w.group = group
	}
}

// writer holds the connection and its prepared statements.
type writer struct {
	conn  *sqlite3.Conn
	stmts map[string]*sqlite3.Stmt
	group []*request
	args  []any // of the current statement
}

// commit sets the result of every request. If the transaction fails (a full disk
// ends it for all requests), each request is retried alone.
func (w *writer) commit(group []*request) {
	if err := w.transaction(group); err == nil {
		return
	} else if len(group) == 1 {
		group[0].err = fault("write", err)
		return
	}
	for _, r := range group {
		r.err = nil
		w.commit([]*request{r})
	}
}

func (w *writer) transaction(group []*request) (err error) {
	if err := w.conn.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil && !w.conn.GetAutocommit() {
			if rollback := w.conn.Exec("ROLLBACK"); rollback != nil {
				err = errors.Join(err, rollback)
			}
		}
	}()
	for _, r := range group {
		if err := w.savepoint(r); err != nil {
			return err
		}
	}
	return w.conn.Exec("COMMIT")
}

// savepoint applies one request. An error that does not end the transaction
// concerns this request only, and is not returned.
func (w *writer) savepoint(r *request) error {
	if err := w.run("SAVEPOINT request"); err != nil {
		return err
	}
	r.err = w.apply(r)
	if r.err == nil {
		return w.run("RELEASE request")
	}
	if w.conn.GetAutocommit() {
		return r.err
	}
	r.err = fault("write", r.err)
	if err := w.run("ROLLBACK TO request"); err != nil {
		return err
	}
	return w.run("RELEASE request")
}

func (w *writer) apply(r *request) error {
	if r.raw != nil {
		return r.raw(w.conn)
	}
	return w.applyWrite(r.write)
}

// run executes a statement, prepared at its first use.
func (w *writer) run(query string, args ...any) error {
	stmt, ok := w.stmts[query]
	if !ok {
		var err error
		if stmt, _, err = w.conn.PrepareFlags(query, sqlite3.PREPARE_PERSISTENT); err != nil {
			return err
		}
		if w.stmts == nil {
			w.stmts = map[string]*sqlite3.Stmt{}
		}
		w.stmts[query] = stmt
	}
	for i, arg := range args {
		if err := bind(stmt, i+1, arg); err != nil {
			return err
		}
	}
	err := stmt.Exec()
	return errors.Join(err, stmt.ClearBindings())
}

func bind(stmt *sqlite3.Stmt, i int, arg any) error {
	switch v := arg.(type) {
	case string:
		return stmt.BindText(i, v)
	case int64:
		return stmt.BindInt64(i, v)
	case bool:
		return stmt.BindBool(i, v)
	case []byte:
		if v == nil {
			v = []byte{}
		}
		return stmt.BindBlob(i, v)
	case time.Time:
		return stmt.BindInt64(i, millis(v))
	case driver.Valuer: // the error of a value that could not be encoded
		value, err := v.Value()
		if err != nil {
			return err
		}
		return bind(stmt, i, value)
	default:
		return fmt.Errorf("cannot bind %T", arg)
	}
}

func (w *writer) close() {
	for _, stmt := range w.stmts {
		_ = stmt.Close()
	}
	_ = w.conn.Close() // Close runs a checkpoint; if it fails, the next Open does
}
