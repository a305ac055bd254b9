package workspace

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bellhop/protocol"
)

func TestDiffShowsEveryKindOfChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work func(t *testing.T, dir string)
		want string
	}{
		"nothing": {func(*testing.T, string) {}, ""},
		"a commit": {func(t *testing.T, dir string) {
			write(t, dir, "README", "shop\nopen\n")
			run(t, dir, "commit", "--quiet", "-am", "second")
		}, "modified README"},
		"staged, not staged and new": {func(t *testing.T, dir string) {
			write(t, dir, "staged.txt", "a\n")
			run(t, dir, "add", ".")
			write(t, dir, "README", "other\n")
			write(t, dir, "new/deep.txt", "b\n")
		}, "modified README; added new/deep.txt; added staged.txt"},
		"staged, then removed": {func(t *testing.T, dir string) {
			write(t, dir, "staged.txt", "a\n")
			run(t, dir, "add", ".")
			must(t, os.Remove(filepath.Join(dir, "staged.txt")))
		}, ""},
		"ignored files are left out": {func(t *testing.T, dir string) {
			write(t, dir, "ignored/big.o", "a\n")
		}, ""},
		"a file that was renamed by mv": {func(t *testing.T, dir string) {
			must(t, os.Rename(filepath.Join(dir, "old.txt"), filepath.Join(dir, "new.txt")))
		}, "renamed new.txt from old.txt"},
		"deleted": {func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "old.txt"))) }, "deleted old.txt"},
		"binary":  {func(t *testing.T, dir string) { write(t, dir, "logo.png", "\x89PNG\x00\x01") }, "added logo.png binary"},
		"another mode": {func(t *testing.T, dir string) {
			must(t, os.Chmod(filepath.Join(dir, "README"), 0o755)) //nolint:gosec // a change of mode is the case
		}, "modified README"},
		"a file that became a link": {func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "README")))
			must(t, os.Symlink("old.txt", filepath.Join(dir, "README")))
		}, "type-changed README"},
		"links that lead in circles and outside": {func(t *testing.T, dir string) {
			must(t, os.Symlink("loop", filepath.Join(dir, "loop")))
			must(t, os.Symlink("..", filepath.Join(dir, "up")))
			must(t, os.Symlink("/etc", filepath.Join(dir, "etc")))
		}, "added etc; added loop; added up"},
		"names with special characters": {
			func(t *testing.T, dir string) {
				for _, name := range []string{"--help", "-rf", "a b", "ü", "line\nend", "tab\tx", `"quoted"`, ":(glob)*", "*"} {
					write(t, dir, name, "x\n")
				}
			},
			`added "quoted"; added *; added --help; added -rf; added :(glob)*; added a b; added "line\nend"; added ` +
				`"tab\tx"; added ü`,
		},
		"a fifo is not read": {func(t *testing.T, dir string) {
			must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
			write(t, dir, "a.txt", "a\n")
		}, "added a.txt"},
		"a merge that stopped": {func(t *testing.T, dir string) {
			write(t, dir, "README", "mine\n")
			run(t, dir, "commit", "--quiet", "-am", "mine")
			run(t, dir, "checkout", "--quiet", "-b", "theirs", "HEAD~1")
			write(t, dir, "README", "theirs\n")
			run(t, dir, "commit", "--quiet", "-am", "theirs")
			run(t, dir, "-c", "merge.conflictStyle=merge", "merge-base", "HEAD", "HEAD")
			_ = tryRun(dir, "merge", "-")
		}, "modified README"},
		"nested repositories": {func(t *testing.T, dir string) {
			write(t, dir, "inner/a.txt", "a\n")
			run(t, filepath.Join(dir, "inner"), "init", "--quiet")
			run(t, filepath.Join(dir, "inner"), "add", ".")
			run(t, filepath.Join(dir, "inner"), "commit", "--quiet", "-m", "inner")
			run(t, dir, "init", "--quiet", "unborn")
		}, "added inner/a.txt"},
		"the index is damaged": {func(t *testing.T, dir string) {
			write(t, dir, "README", "other\n")
			must(t,
				os.WriteFile(run(t, dir, "rev-parse", "--path-format=absolute", "--git-path", "index"), []byte("garbage"), 0o600))
		}, "modified README"},
		"the index is locked": {func(t *testing.T, dir string) {
			write(t, dir, "README", "other\n")
			must(t, os.WriteFile(run(t, dir, "rev-parse", "--path-format=absolute", "--git-path", "index.lock"), nil, 0o600))
		}, "modified README"},
		"an older commit is checked out, without a branch": {func(t *testing.T, dir string) {
			write(t, dir, "a.txt", "a\n")
			run(t, dir, "add", ".")
			run(t, dir, "commit", "--quiet", "-m", "a")
			run(t, dir, "checkout", "--quiet", "--detach", "HEAD~1")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newRepository(t)
			k := open(t, map[string]Project{"shop": {Path: shop}})
			dir := k.session("s1", "shop")
			c.work(t, dir)
			diff := k.diff("s1", "shop")
			equal(t, "files", fileLines(diff), c.want)
			if diff.Base != run(t, shop, "rev-parse", "main") || diff.Truncated {
				t.Errorf("base %s, truncated %v", diff.Base, diff.Truncated)
			}
			if n := strings.Count("\n"+diff.Patch, "\ndiff --git "); n != len(diff.Files) &&
				name != "a file that became a link" {
				t.Errorf("%d files in the patch:\n%s", n, diff.Patch)
			}
		})
	}
}

func TestDiffLeavesTheRepositoryUnchanged(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session("s1", "shop")
	write(t, dir, "staged.txt", "staged\n")
	run(t, dir, "add", ".")
	write(t, dir, "new.txt", "new\n")
	index := run(t, dir, "rev-parse", "--path-format=absolute", "--git-path", "index")
	before, err := os.ReadFile(index)
	must(t, err)
	objects := run(t, shop, "count-objects", "-v")
	equal(t, "files", fileLines(k.diff("s1", "shop")), "added new.txt; added staged.txt")
	after, err := os.ReadFile(index)
	must(t, err)
	if string(before) != string(after) {
		t.Error("the index changed")
	}
	equal(t, "objects", run(t, shop, "count-objects", "-v"), objects)
	equal(t, "status", run(t, dir, "status", "--porcelain"), "A  staged.txt\n?? new.txt")
	entries, err := os.ReadDir(filepath.Join(k.data, "workspaces", ".scratch"))
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestGitCanApplyThePatch(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session("s1", "shop")
	write(t, dir, "README", "shop\nopen\n")
	write(t, dir, "a b.txt", "new")
	must(t, os.Rename(filepath.Join(dir, "old.txt"), filepath.Join(dir, "line\nend.txt")))
	diff := k.diff("s1", "shop")
	write(t, filepath.Dir(shop), "patch", diff.Patch)
	run(t, shop, "apply", filepath.Join(filepath.Dir(shop), "patch"))
	run(t, shop, "add", ".")
	run(t, dir, "add", ".")
	equal(t, "tree", run(t, shop, "write-tree"), run(t, dir, "write-tree"))
}

func TestADirectoryUsedInPlaceIsComparedWithItsFirstState(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T) (string, Project){
		"a plain directory": func(t *testing.T) (string, Project) {
			dir := t.TempDir()
			return dir, Project{Path: dir}
		},
		"a shared repository with changes of its own": func(t *testing.T) (string, Project) {
			dir := newRepository(t)
			write(t, dir, "README", "changed before\n")
			return dir, Project{Path: dir, InPlace: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, p := prepare(t)
			write(t, dir, "before.txt", "before\n")
			write(t, dir, "gone.txt", "gone\n")
			k := open(t, map[string]Project{"p": p})
			equal(t, "directory", k.session("s1", "p"), dir)
			equal(t, "at first", fileLines(k.diff("s1", "p")), "")
			write(t, dir, "before.txt", "after\n")
			write(t, dir, "sub/new.txt", "new\n")
			must(t, os.Remove(filepath.Join(dir, "gone.txt")))
			k = openOn(t, k.data, map[string]Project{"p": p})
			diff := k.diff("s1", "p")
			equal(t, "later", fileLines(diff), "modified before.txt; deleted gone.txt; added sub/new.txt")
			if !strings.Contains(diff.Patch, "-before\n+after\n") {
				t.Errorf("patch %s", diff.Patch)
			}
			k.session("s2", "p")
			equal(t, "a session that begins now", fileLines(k.diff("s2", "p")), "")
			write(t, dir, "sub/third.txt", "third\n")
			equal(t, "its own work", fileLines(k.diff("s2", "p")), "added sub/third.txt")
			if entries, err := os.ReadDir(dir); err != nil || p.InPlace != exists(filepath.Join(dir, ".git")) {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
}

func TestAPatchIsCutAtAFile(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	dir := k.session("s1", "")
	big := strings.Repeat(strings.Repeat("x", 99)+"\n", 3000) // 300 kB
	write(t, dir, "a.txt", big)
	write(t, dir, "b.txt", big)
	write(t, dir, "c.txt", "diff --git a/x b/x\n")
	diff := k.diff("s1", "")
	if !diff.Truncated || len(diff.Patch) > protocol.MaxPatch || len(diff.Files) != 3 {
		t.Errorf("%d bytes, %d files, truncated %v", len(diff.Patch), len(diff.Files), diff.Truncated)
	}
	if strings.Contains(diff.Patch, "b/b.txt") || !strings.HasSuffix(diff.Patch, "+diff --git a/x b/x\n") {
		t.Error("the patch holds other files than those that fit")
	}
	equal(t, "lines", strconv.Itoa(diff.Files[1].Additions), "3000")
}

func TestDiffRefusesTooManyFiles(t *testing.T) {
	t.Parallel()
	plain := t.TempDir()
	for i := range 4 {
		write(t, plain, strconv.Itoa(i), "1234")
	}
	for name, limit := range map[string]func(k *kit){
		"over 3 new or changed files": func(k *kit) { k.limits.Files = 3 },
		"or 0 MiB of them":            func(k *kit) { k.limits.Bytes = 15 },
	} {
		t.Run(name, func(t *testing.T) {
			k := open(t, map[string]Project{"plain": {Path: plain}})
			limit(k)
			equal(t, "the session works all the same", k.session("s1", "plain"), plain)
			_, err := k.Diff(t.Context(), "s1", "plain")
			if hint := errorHint(t, err, protocol.CodeConflict); !strings.Contains(hint, name) {
				t.Errorf("hint %q", hint)
			}
		})
	}
}

// The time ends in the lock, in the reader and in git, one after the other.
func TestADiffOverItsTimeSaysSo(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	write(t, k.session("s1", ""), "new.txt", "a\n")
	failed := 0
	for k.diffTime = time.Microsecond; ; k.diffTime = k.diffTime*5/4 + time.Microsecond {
		_, err := k.Diff(t.Context(), "s1", "")
		if err == nil {
			break
		}
		failed++
		errorHint(t, err, protocol.CodeConflict)
		if !strings.HasPrefix(err.Error(), "Reading the workspace takes too long") {
			t.Errorf("after %s: %v", k.diffTime, err)
		}
	}
	if failed == 0 {
		t.Error("no diff took too long")
	}
}

func TestDiffWithoutWorkspaceOrBasis(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	_, err := k.Diff(t.Context(), "s1", "")
	errorHint(t, err, protocol.CodeNotFound)
	must(t, os.RemoveAll(k.session("s1", "")))
	_, err = k.Diff(t.Context(), "s1", "")
	errorHint(t, err, protocol.CodeConflict)
}

// A diff needs neither the repository in the workspace nor what a file in its place names.
func TestADiffNeedsNoRepositoryInTheWorkspace(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	dir := k.session("s1", "")
	write(t, dir, "a.txt", "a\n")
	must(t, os.RemoveAll(filepath.Join(dir, ".git")))
	equal(t, "without one", fileLines(k.diff("s1", "")), "added a.txt")
	must(t, os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: /etc\n"), 0o600))
	equal(t, "another one's", fileLines(k.diff("s1", "")), "added a.txt")
}

func TestParseFilesRefusesMalformedOutput(t *testing.T) {
	t.Parallel()
	for _, out := range []string{
		":", ":1 2 3 4 M", "1\t2\tx\x00", ":1 2 3 4 M\x00a\x00x\x00", ":1 2 3 4 M\x00a\x001\t1\ta\x001\t1\tb\x00",
	} {
		if files, err := parseFiles(out); err == nil {
			t.Errorf("%q: %v", out, files)
		}
	}
}

// A page asks for the changes and for the state of the workspace at the same time.
func TestAWorkspaceIsReadSeveralTimesAtOnce(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	commitIn(t, dir)
	write(t, dir, "README", "changed\n")
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 8 {
				diff, err := k.Diff(t.Context(), uuid, "shop")
				if err != nil || len(diff.Files) != 2 {
					t.Errorf("the changes: %v", err)
				}
				if _, err := k.Info(t.Context(), dir); err != nil {
					t.Errorf("the state: %v", err)
				}
			}
		})
	}
	readers.Wait()
}
