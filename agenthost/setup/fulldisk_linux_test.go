package setup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost/setup"
	"bellhop/internal/testenv/disk"
	"bellhop/protocol"
)

func TestAFullDiskFailsAnInstallationAndRoomRepairsIt(t *testing.T) {
	t.Parallel()
	if !disk.CanMount(t) {
		return
	}
	w := newTestRegistry(t, append(program("1.2.3"),
		entry{name: "package/large", content: strings.Repeat("x", 4<<20), mode: 0o644}))
	small := disk.NewSmall(t, 6<<20)
	if err := os.Symlink(small.Dir, filepath.Join(w.dir, "cache")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(small.Dir, "other"), make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.installer.Install(t.Context(), "fake")
	expectError(t, err, protocol.CodeStorageFull, "the disk is full", "Free some room", "BELLHOP_AGENTS_DIR")
	w.expectNothingInstalled()
	if err := os.Remove(filepath.Join(small.Dir, "other")); err != nil {
		t.Fatal(err)
	}
	if _, fresh, err := w.installer.Install(t.Context(), "fake"); err != nil || !fresh {
		t.Error(fresh, err)
	}
	if _, err := w.cache().Find(t.Context(), "fake", setup.Want{}); err != nil {
		t.Error(err)
	}
}
