package database

import (
	"context"

	"bellhop/protocol"
)

// Chunks are the rows of a table that DeleteChunks deletes.
type Chunks struct {
	Table string
	Key   string // a column without equal values among the rows; an index has the rows in its order
	Where string
	Args  []any // of Where
	Rows  int   // of a chunk at first; 0 = 5000
}

const (
	chunkRows    = 5000
	minChunkRows = 50
)

// DeleteChunks deletes rows chunk by chunk, each in a transaction of its own, so that no
// statement reaches the time limit. If one does, the chunks become smaller. The chunks
// before an error stay deleted, so a repetition goes on. It must not be called inside a
// Write.
func (d *DB) DeleteChunks(ctx context.Context, what string, id any, c Chunks) (deleted int64, err error) {
	rows := c.Rows
	if rows == 0 {
		rows = chunkRows
	}
	var after any // the last key of the chunk before
	for {
		last, n, err := d.deleteChunk(ctx, what, id, c, after, rows)
		switch {
		case err != nil && protocol.CodeOf(err) == protocol.CodeUnavailable && rows > minChunkRows && ctx.Err() == nil:
			rows /= 10
			continue
		case err != nil || last == nil:
			return deleted, err
		}
		deleted += n
		after = last
	}
}

// deleteChunk deletes the first rows behind a key. Bounds by key instead of a list of rows
// keep a chunk from reading what the chunks before have deleted.
func (d *DB) deleteChunk(
	ctx context.Context, what string, id any, c Chunks, after any, rows int,
) (last any, n int64, err error) {
	where, args := c.Where, append([]any{}, c.Args...)
	if after != nil {
		where, args = where+" AND "+c.Key+" > ?", append(args, after)
	}
	err = d.Write(ctx, func(ctx context.Context) error {
		find := "SELECT max(" + c.Key + ") FROM (SELECT " + c.Key + " FROM " + c.Table + " WHERE " + where + " ORDER BY " + c.Key + " LIMIT ?) AS chunk"
		if err := d.Conn(ctx).Raw(find, append(args[:len(args):len(args)], rows)...).Row().Scan(&last); err != nil ||
			last == nil {
			return Fault(err, what, id)
		}
		n, err = d.Exec(ctx, what, id, "DELETE FROM "+c.Table+" WHERE "+where+" AND "+c.Key+" <= ?",
			append(args[:len(args):len(args)], last)...)
		return err
	})
	return last, n, err
}
