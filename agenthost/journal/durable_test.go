package journal

import (
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// Announced data must survive a power failure of the machine as well as a crash of
// the process: every commit is on the disk before Write returns.
func TestACommitIsOnTheDisk(t *testing.T) {
	t.Parallel()
	j := opened(t, t.TempDir())
	for pragma, wanted := range map[string]string{"synchronous": "2", "journal_mode": "wal"} {
		var got string
		err := j.exec(t.Context(), func(c *sqlite3.Conn) error {
			stmt, _, err := c.Prepare("PRAGMA " + pragma)
			if err != nil {
				return err
			}
			if stmt.Step() {
				got = stmt.ColumnText(0)
			}
			return stmt.Close()
		})
		want(t, pragma, got, wanted, err)
	}
}
