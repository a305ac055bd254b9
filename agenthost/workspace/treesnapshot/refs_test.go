package treesnapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost/workspace/worktreetest"
)

// knows reports whether the store has an object with all that it needs.
func (h *host) knows(id string) bool {
	_, err := h.run(h.t.Context(), Call{GitDir: h.GitDir(), Args: []string{"rev-list", "--objects", id}})
	return err == nil
}

// The first snapshot and the last ones stay. Others are forgotten, with their packs.
func TestAStoreKeepsTheLastSnapshots(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	h := openHost(t, root, "sha1", "", "")
	var ids []string
	for i := range maxSnapshots + maxPacks + 2 {
		must(t, os.WriteFile(filepath.Join(root, "f"), fmt.Appendln(nil, "state", i), 0o600))
		ids = append(ids, h.take().ID)
		if i == 0 {
			must(t, h.KeepFirst(ids[0]))
		}
	}
	if packs, _, err := h.packs(); err != nil || packs > maxPacks {
		t.Errorf("%d packs, %v", packs, err)
	}
	for i, wants := range map[int]bool{0: true, 1: false, 2: false, len(ids) - maxSnapshots: true, len(ids) - 1: true} {
		if h.knows(ids[i]) != wants {
			t.Errorf("snapshot %d of %d: known %v", i, len(ids), !wants)
		}
	}
	must(t, os.WriteFile(filepath.Join(root, "f"), []byte("state 0\n"), 0o600))
	if again := h.take(); again.ID != ids[0] {
		t.Errorf("the first state is %s, then %s", ids[0], again.ID)
	}
}

// A store does not grow without end: with too much content, only the last snapshots stay.
func TestAStoreForgetsMoreWhenItIsLarge(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	h := openHost(t, root, "sha1", "", "")
	h.maxGrowth = 64 << 10
	var first, last string
	for i := range 6 {
		must(t, os.WriteFile(filepath.Join(root, "f"), []byte(noise(t, 40<<10)), 0o600))
		if last = h.take().ID; i == 0 {
			first = last
		}
	}
	if _, size, err := h.packs(); err != nil || size > 200<<10 {
		t.Errorf("%d bytes, %v", size, err)
	}
	if h.knows(first) || !h.knows(last) {
		t.Errorf("the first one known %v, the last one %v", h.knows(first), h.knows(last))
	}
	// What git converts does not go into a pack, and counts too.
	must(t, os.WriteFile(filepath.Join(root, ".gitattributes"), []byte("f text\n"), 0o600))
	for range 6 {
		must(t, os.WriteFile(filepath.Join(root, "f"), []byte(noise(t, 40<<10)+"\r\n"), 0o600))
		h.take()
	}
	out, err := h.run(t.Context(), Call{GitDir: h.GitDir(), Args: []string{"count-objects", "-v"}})
	must(t, err)
	if strings.Contains(string(out), "count: 6\n") {
		t.Errorf("all converted files are there:\n%s", out)
	}
}

// noise returns text that does not compress well.
func noise(t *testing.T, size int) string {
	t.Helper()
	return strings.TrimSpace(worktreetest.Shell(t, t.TempDir(), fmt.Sprintf("head -c %d /dev/urandom | base64 -w0", size*3/4)))
}
