package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"bellhop/internal/observe"
	"bellhop/protocol"
)

// Chunks are the rows of a table that DeleteChunks deletes.
type Chunks struct {
	Table   string
	Key     string // a column with few equal values among the rows; an index has the rows in its order
	Where   string
	Args    []any // of Where
	Rows    int   // of a chunk at first; 0 = 5000
	InOrder bool  // no row may be deleted before one with a lower key
}

const (
	chunkRows    = 5000
	minChunkRows = 50
	// maxFailedChunks is how many chunks after each other are left out. More mean that the cause is
	// not in the rows.
	maxFailedChunks = 10
)

// DeleteChunks deletes rows chunk by chunk, each in a transaction of its own, so that no
// statement reaches the time limit. If a chunk cannot be deleted, because it takes too long or
// another transaction holds a lock, the chunks become smaller, and larger again after a success.
// The smallest one is left out and the others are deleted; the error says so at the end. With
// InOrder the first such chunk ends the call. The chunks before an error stay deleted, so a
// repetition continues. observe.Progress gets the rows of each chunk. The budget of a request does
// not count: each statement has its own limit. It must not be called inside a Write.
func (d *DB) DeleteChunks(ctx context.Context, what string, id any, c Chunks) (deleted int64, err error) {
	ctx = WithoutBudget(ctx)
	all := cmp.Or(c.Rows, chunkRows)
	rows := all
	var after any // the last key of the chunk before
	var left leftOut
	for {
		last, n, err := d.deleteChunk(ctx, what, id, c, after, rows)
		switch {
		case err == nil && last == nil:
			return deleted, left.err(c.Table)
		case err == nil:
			deleted, after, rows, left.inRow = deleted+n, last, min(2*rows, all), 0
			observe.Progress(ctx, n)
		case ctx.Err() != nil:
			return deleted, err
		case rows > minChunkRows && (last != nil || protocol.CodeOf(err) == protocol.CodeUnavailable):
			rows = max(rows/10, minChunkRows)
		case last == nil || c.InOrder || left.inRow == maxFailedChunks:
			return deleted, errors.Join(err, left.err(c.Table))
		default:
			left.add(err)
			after = last
		}
	}
}

// leftOut are the chunks that could not be deleted.
type leftOut struct {
	chunks int
	inRow  int // after the last success
	first  error
}

func (l *leftOut) add(err error) {
	l.chunks++
	l.inRow++
	l.first = cmp.Or(l.first, err)
}

func (l *leftOut) err(table string) error {
	if l.chunks == 0 {
		return nil
	}
	return fmt.Errorf("%d chunks of %s were left out, the first: %w", l.chunks, table, l.first)
}

// deleteChunk deletes the first rows behind a key. Bounds by key instead of a list of rows
// keep a chunk from reading what the chunks before have deleted. last is the key of the last row,
// also if the rows cannot be deleted; nil if there is none, or if it was not found.
func (d *DB) deleteChunk(
	ctx context.Context, what string, id any, c Chunks, after any, rows int,
) (last any, n int64, err error) {
	where, args := c.Where, append([]any{}, c.Args...)
	if after != nil {
		where, args = where+" AND "+c.Key+" > ?", append(args, after)
	}
	find := "SELECT max(" + c.Key + ") FROM (SELECT " + c.Key + " FROM " + c.Table + " WHERE " + where +
		" ORDER BY " + c.Key + " LIMIT ?) AS chunk"
	remove := "DELETE FROM " + c.Table + " WHERE " + where + " AND " + c.Key + " <= ?"
	args = args[:len(args):len(args)]
	err = d.Write(ctx, func(ctx context.Context) error {
		last = nil
		if err := d.Conn(ctx).Raw(find, append(args, rows)...).Row().Scan(&last); err != nil || last == nil {
			return Fault(err, what, id)
		}
		n, err = d.Exec(ctx, what, id, remove, append(args, last)...)
		return err
	})
	return last, n, err
}
