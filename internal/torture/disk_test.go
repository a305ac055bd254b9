//go:build linux

package torture

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A run that was killed leaves its disks mounted; the run that continues it removes them.
func TestTheFolderOfAKilledRoundCanBeRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "round-1")
	d, err := newDisk(filepath.Join(dir, "host-1"))
	if err != nil {
		t.Fatal(err)
	}
	if d.mounted != canMount() {
		t.Errorf("mounted: %v", d.mounted)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "journal.db"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing left
		if err := removeRound(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}
