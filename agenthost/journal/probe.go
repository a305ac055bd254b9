package journal

import (
	"context"

	"github.com/ncruces/go-sqlite3"
)

// Probe writes a small row to test whether turns can be journaled. It returns
// CodeStorageFull when the disk is full.
func (j *Journal) Probe(ctx context.Context) error {
	return j.exec(ctx, func(c *sqlite3.Conn) error { return c.Exec("UPDATE probe SET value = value + 1 WHERE id = 1") })
}
