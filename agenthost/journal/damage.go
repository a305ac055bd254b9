package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// errDamaged means that a file opens but its content is inconsistent.
var errDamaged = errors.New("damaged")

func damaged(err error) bool {
	return errors.Is(err, errDamaged) || errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB)
}

func check(conn *sqlite3.Conn) error {
	stmt, _, err := conn.Prepare("PRAGMA quick_check(1)")
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	if stmt.Step() && stmt.ColumnText(0) != "ok" {
		return fmt.Errorf("%w: %s", errDamaged, stmt.ColumnText(0))
	}
	return stmt.Err()
}

// setAside renames the journal and its -wal and -shm files consistently, so that an
// operator can still open them.
func setAside(path string, now time.Time) error {
	aside := path + ".damaged-" + now.UTC().Format("20060102T150405.000Z")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err := os.Rename(path+suffix, aside+suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("set the damaged journal aside: %w", err)
		}
	}
	return nil
}

func notices(path string) []string {
	found, _ := filepath.Glob(path + ".damaged-*") // fails only for malformed patterns
	var out []string
	for _, file := range found {
		if !strings.HasSuffix(file, "-wal") && !strings.HasSuffix(file, "-shm") {
			out = append(out, "A damaged journal was set aside as "+filepath.Base(file)+"; remove it when it is of no more use")
		}
	}
	return out
}
