package configfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/internal/configfile"
	"bellhop/internal/owner"
)

// The home of a session can belong to another user than the host's. Then its files do too, and its links
// lead nowhere.
func TestFilesBelongToTheOwnerOfTheFolder(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), owner.ID{UID: 1_900_000_001, GID: 1_900_000_000}
	home, outside := filepath.Join(dir, "home"), filepath.Join(dir, "outside")
	for _, path := range []string{home, outside} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	if err := owner.Give(home, id); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := configfile.Write(filepath.Join(home, "a", "b", "c.json"), "{}", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "a/b", "a/b/c.json"} {
		if got, err := owner.OfPath(filepath.Join(home, name)); err != nil || got != id {
			t.Errorf("%s belongs to %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"link/c.json", "link/d/c.json"} {
		err := configfile.Write(filepath.Join(home, name), "{}", nil, nil)
		if err == nil || !strings.Contains(err.Error(), "is a link") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}
