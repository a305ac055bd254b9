//go:build linux

package torture

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"bellhop/internal/testenv"
)

// What was synced survives a cut, and nothing else does: neither a file nor a name that was moved over
// another. Afterwards no loop device has the image.
func TestAPowerCutLeavesWhatWasSynced(t *testing.T) {
	if why := noPowerCuts(t.Context(), t.TempDir()); why != "" {
		t.Log("no power cuts here: " + why)
		return
	}
	d, err := newDisk(t.Context(), filepath.Join(t.TempDir(), "host-1"), true)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(d.dir, name) }
	testenv.Must(t, os.WriteFile(file("synced"), []byte("old"), 0o600))
	testenv.Must(t, os.WriteFile(file("moved"), []byte("old"), 0o600))
	testenv.Must(t, d.sync())
	testenv.Must(t, os.WriteFile(file("lost"), []byte("new"), 0o600))
	testenv.Must(t, os.WriteFile(file("moved.new"), []byte("new"), 0o600))
	testenv.Must(t, os.Rename(file("moved.new"), file("moved")))
	testenv.Must(t, d.cutPower())
	if err := os.WriteFile(file("after"), []byte("new"), 0o600); err == nil {
		t.Error("the disk takes a file after the cut")
	}
	testenv.Must(t, d.remount(t.Context()))
	for name, want := range map[string]string{"synced": "old", "moved": "old", "lost": "", "after": ""} {
		if got, _ := os.ReadFile(file(name)); string(got) != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	testenv.Must(t, d.fill())
	testenv.Must(t, d.empty())
	testenv.Must(t, d.close())
	backing, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	testenv.Must(t, err)
	for _, path := range backing {
		if content, _ := os.ReadFile(path); bytes.Contains(content, []byte(d.image)) {
			t.Errorf("%s still has the image", path)
		}
	}
}

// A run that was killed leaves its disks mounted; the run that continues it removes them.
func TestTheFolderOfAKilledRoundCanBeRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "round-1")
	d, err := newDisk(t.Context(), filepath.Join(dir, "host-1"), noPowerCuts(t.Context(), t.TempDir()) == "")
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
