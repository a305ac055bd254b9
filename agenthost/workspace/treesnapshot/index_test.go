package treesnapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/agenthost/workspace/worktreetest"
	"bellhop/internal/owner"
)

// writtenIndex gives the repository in the tree the index of a snapshot.
func (h *host) writtenIndex(root string) *Snapshot {
	h.t.Helper()
	h.request.Skipped = true
	s := h.take()
	must(h.t, h.WriteIndex(filepath.Join(root, ".git/index"), s, owner.Self()))
	return s
}

// Git in the tree reads the index of a snapshot, in both formats of objects, and takes the files for unchanged.
func TestGitUsesTheIndexOfASnapshot(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			long := strings.Repeat("long/", 100) + strings.Repeat("n", 200)
			worktreetest.Shell(t, root, "git init -q; echo a>a; ln -s a l; echo x>x; chmod +x x; mkdir -p "+filepath.Dir(long)+
				"; echo l>"+long+"; git add -A; git commit -qm first", "GIT_DEFAULT_HASH="+format)
			h := openHost(t, root, format, "", "")
			h.take() // settled signatures need a state that is two seconds old
			h.request.Fresh = 1
			must(t, os.Remove(h.filesPath()))
			h.writtenIndex(root)
			if out := worktreetest.Shell(t, root, "git status --porcelain; git fsck --strict"); strings.TrimSpace(out) != "" {
				t.Error(out)
			}
			debug := worktreetest.Shell(t, root, "git ls-files --debug a")
			info, err := os.Lstat(filepath.Join(root, "a"))
			must(t, err)
			want := fmt.Sprintf("mtime: %d:%d", info.ModTime().Unix(), info.ModTime().Nanosecond())
			if settles(t, root) && !strings.Contains(debug, want) {
				t.Errorf("want %s:\n%s", want, debug)
			}
			if index, err := os.Stat(filepath.Join(root, ".git/index")); err != nil || index.ModTime().After(time.Now()) {
				t.Errorf("%v, %v", index, err)
			}
		})
	}
}

// settles reports whether signatures in a directory are trusted.
func settles(t *testing.T, root string) bool {
	t.Helper()
	h := openHost(t, root, "sha1", "", "")
	h.request.Fresh = 1
	s := h.take()
	return len(s.Files) > 0 && s.Files[0].Signature.Changed != 0
}

// A sparse checkout stays one: entries without files keep their flag, and are in the snapshot.
func TestTheIndexKeepsASparseCheckout(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"flags":        "git update-index --skip-worktree d/g d/h; rm -r d",
		"sparse index": "git sparse-checkout set --cone --sparse-index e",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			root := filepath.Join(parent, "clone")
			worktreetest.Shell(t, parent, "git init -q own; cd own; mkdir d e; echo g>d/g; echo h>d/h; echo e>e/e; git add -A; "+
				"git commit -qm first; cd ..; git clone -q own clone; cd clone; "+script)
			base := strings.TrimSpace(worktreetest.Shell(t, root, "git rev-parse HEAD"))
			h := openHost(t, root, "sha1", filepath.Join(parent, "own/.git/objects"), base)
			h.take()
			s := h.writtenIndex(root)
			if !s.Skipped["d/g"] || !s.Has("d/h") || s.Skipped["e/e"] {
				t.Errorf("skipped %v", s.Skipped)
			}
			if out := worktreetest.Shell(t, root, "git status --porcelain; git ls-files -t"); out != "S d/g\nS d/h\nH e/e\n" {
				t.Error(out)
			}
		})
	}
}

// An entry without a file whose content only the repository in the tree has cannot be in a snapshot: it is named.
func TestContentThatOnlyTheAgentHasIsLeftOut(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Shell(t, root, "git init -q; echo only>f; mkdir d; echo only>d/g; git add -A; git update-index --skip-worktree f; rm f; echo a>a")
	h := openHost(t, root, "sha1", "", "")
	s := h.take()
	if len(s.LeftOut) != 1 || s.LeftOut[0] != (treereader.LeftOut{Path: "f", Reason: treereader.NoObject}) || !s.Has("a") || s.Has("f") {
		t.Errorf("left out %v", s.LeftOut)
	}
	worktreetest.Shell(t, root, "git update-index --no-skip-worktree f; git add -A; git commit -qm x; echo b>b; git add b; git commit -qm y; "+
		"git config core.sparseCheckout true; git sparse-checkout set --cone --sparse-index none; echo c>c")
	if s = h.take(); !s.Has("c") || !h.knows(s.ID) {
		t.Errorf("left out %v", s.LeftOut)
	}
}

// An index can name a file and a directory of one path. The snapshot has what is in the tree.
func TestAnIndexThatContradictsItselfIsNoError(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	root := filepath.Join(parent, "clone")
	worktreetest.Shell(t, parent, "git init -q own; cd own; mkdir d; echo g>d/g; git add -A; git commit -qm first; cd ..; git clone -q own clone; cd clone; "+
		"git update-index --skip-worktree d/g; rm -r d; echo d>d")
	base := strings.TrimSpace(worktreetest.Shell(t, root, "git rev-parse HEAD"))
	h := openHost(t, root, "sha1", filepath.Join(parent, "own/.git/objects"), base)
	for range 2 {
		if s := h.take(); !s.Has("d") || s.Has("d/g") || !h.knows(s.ID) {
			t.Errorf("left out %v", s.LeftOut)
		}
	}
}
