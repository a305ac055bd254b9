package journal

import (
	"context"

	"github.com/ncruces/go-sqlite3"
)

// Probe writes a tiny row, to find out whether turns can be journaled.
// CodeStorageFull when the disk has no room.
func (j *Journal) Probe(ctx context.Context) error {
	return j.exec(ctx, func(c *sqlite3.Conn) error { return c.Exec("UPDATE probe SET value = value + 1 WHERE id = 1") })
}
