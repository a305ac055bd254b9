package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/protocol"
)

func asError(err error, target **protocol.Error) bool { return errors.As(err, target) }

const uuid = "01939d3a-7a5b-7c3e-9f00-0a1b2c3d4e5f"

func TestASessionHasItsOwnPrivateDirectories(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	for range 2 { // the second time they exist
		dir, state, err := k.Dir(t.Context(), "0193-a_b.c", "")
		must(t, err)
		if dir != filepath.Join(k.data, "workspaces", "0193-a_b.c") || state != filepath.Join(k.data, "state", "0193-a_b.c") {
			t.Fatalf("got %s and %s", dir, state)
		}
		for _, path := range []string{dir, state} {
			info, err := os.Stat(path)
			must(t, err)
			if info.Mode() != fs.ModeDir|0o700 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
		}
		equal(t, "its repository", run(t, dir, "log", "--format=%s %an", "--all"), "Begin Bellhop")
		equal(t, "its branch", run(t, dir, "status", "--short", "--branch"), "## main")
	}
}

func TestAProjectsSessionHasAClone(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session(uuid, "shop")
	equal(t, "directory", dir, filepath.Join(k.data, "workspaces", uuid))
	equal(t, "branch", run(t, dir, "branch", "--show-current"), "bellhop/2c3d4e5f")
	equal(t, "the files", run(t, dir, "ls-files"), ".gitignore\nREADME\nold.txt")
	equal(t, "the project's own branch", run(t, shop, "branch", "--show-current"), "main")
	equal(t, "the project's own tree", run(t, shop, "status", "--porcelain"), "")
	equal(t, "the project's worktrees", run(t, shop, "worktree", "list", "--porcelain"),
		"worktree "+shop+"\nHEAD "+run(t, shop, "rev-parse", "HEAD")+"\nbranch refs/heads/main")
	info, err := k.Info(t.Context(), filepath.Join(dir, "below"))
	must(t, err)
	if info.Project != "shop" || info.Session != uuid || info.Branch != "bellhop/2c3d4e5f" || info.Dirty ||
		info.Unpushed != 0 || info.DiskBytes == 0 || info.CreatedAt.IsZero() {
		t.Errorf("got %+v", info)
	}
	other := k.session("s2", "shop")
	if other == dir || run(t, other, "branch", "--show-current") == "bellhop/2c3d4e5f" {
		t.Errorf("two sessions share %s", other)
	}
}

func TestStartCommitOfAClone(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	run(t, shop, "branch", "next")
	run(t, shop, "checkout", "--quiet", "-b", "work")
	write(t, shop, "part/a.txt", "a\n")
	run(t, shop, "add", ".")
	run(t, shop, "commit", "--quiet", "-m", "second")
	k := open(t, map[string]Project{
		"head": {Path: shop}, "next": {Path: shop, Branch: "next"}, "none": {Path: shop, Branch: "nowhere"},
		"part": {Path: filepath.Join(shop, "part")}, "shared": {Path: shop, InPlace: true},
	})
	equal(t, "at the current HEAD", run(t, k.session("s1", "head"), "log", "-1", "--format=%s"), "second")
	equal(t, "at a named branch", run(t, k.session("s2", "next"), "log", "-1", "--format=%s"), "first")
	equal(t, "in a part of a repository", k.session("s3", "part"), filepath.Join(k.data, "workspaces", "s3", "part"))
	equal(t, "in place", k.session("s4", "shared"), shop)
	_, _, err := k.Dir(t.Context(), "s5", "none")
	equal(t, "hint", errorHint(t, err, protocol.CodeConflict),
		"Correct the branch in the host's configuration, or create it")
}

func TestDirectoriesUsedInPlace(t *testing.T) {
	t.Parallel()
	plain := t.TempDir()
	empty := t.TempDir()
	run(t, empty, "init", "--quiet")
	k := open(t, map[string]Project{"plain": {Path: plain}, "empty": {Path: empty}})
	equal(t, "a plain directory", k.session("s1", "plain"), plain)
	equal(t, "a repository without a commit", k.session("s2", "empty"), empty)
	if exists(filepath.Join(plain, ".git")) || exists(filepath.Join(k.data, "workspaces", "s1")) {
		t.Error("a file was added to or next to a plain directory")
	}
}

// A restored data directory can lack the records, whose directory is hidden.
func TestFilesWithoutARecordAreKept(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	for id, project := range map[string]string{"s1": "", "s2": "shop"} {
		dir := k.session(id, project)
		write(t, dir, "notes.txt", "mine\n")
		must(t, os.Remove(k.recordPath(id)))
		_, _, err := k.Dir(t.Context(), id, project)
		if hint := errorHint(t, err, protocol.CodeConflict); !strings.Contains(hint, dir) {
			t.Errorf("the hint names no directory: %s", hint)
		}
		if !exists(filepath.Join(dir, "notes.txt")) {
			t.Error("a file was removed")
		}
		must(t, os.Rename(dir, dir+".away"))
		if k.session(id, project) != dir || !exists(filepath.Join(dir, ".git")) {
			t.Error("no new workspace was made")
		}
	}
}

// Nothing is done with a workspace of a kind that this version does not know.
func TestAWorkspaceOfAnotherKindIsLeftAlone(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	dir := k.session("s1", "")
	rec, err := k.readRecord("s1")
	must(t, err)
	rec.Kind = "tree"
	must(t, k.saveRecord(rec))
	for what, err := range map[string]error{
		"Dir":    func() error { _, _, err := k.Dir(t.Context(), "s1", ""); return err }(),
		"Delete": k.Delete(t.Context(), dir, true),
		"Diff":   func() error { _, err := k.Diff(t.Context(), "s1", ""); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), `the kind "tree" is not known`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := k.Prune(t.Context(), false); err != nil || !exists(dir) {
		t.Errorf("pruned: %v", err)
	}
}

func TestASessionThatChangesItsProject(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	first, second := k.session("s1", ""), k.session("s1", "shop")
	if first == second || k.session("s1", "") != first || k.session("s1", "shop") != second {
		t.Errorf("got %s and %s", first, second)
	}
	only, err := k.Remove(t.Context(), "s1", "")
	kept := only.Exist()
	if kept || err != nil || exists(first) || exists(second) {
		t.Errorf("removed: %v, %v", kept, err)
	}
}

func TestConcurrentDirCalls(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	data := filepath.Join(t.TempDir(), "data")
	one, two := openOn(t, data, map[string]Project{"shop": {Path: shop}}),
		openOn(t, data, map[string]Project{"shop": {Path: shop}})
	var wg sync.WaitGroup
	for _, id := range []string{"s1", "s1", "s2", "s3", "s4", "s1"} {
		for _, k := range []*kit{one, two} {
			wg.Go(func() {
				if dir, _, err := k.Dir(t.Context(), id, "shop"); err != nil || !exists(filepath.Join(dir, "README")) {
					t.Errorf("%s: %s, %v", id, dir, err)
				}
			})
		}
	}
	wg.Wait()
	if n := strings.Count(run(t, shop, "branch", "--list", "bellhop*"), "bellhop"); n != 4 {
		t.Errorf("%d branches of sessions", n)
	}
}

func TestDamagedClonesAreRepaired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(t *testing.T, shop, dir string)
		want string // content of work.txt; "" = gone
	}{
		"nothing: a restart": {func(*testing.T, string, string) {}, "work\n"},
		"removed by hand: from its branch": {func(t *testing.T, _, dir string) {
			must(t, os.RemoveAll(dir))
		}, "work\n"},
		"removed with its branch: from its base": {func(t *testing.T, shop, dir string) {
			must(t, os.RemoveAll(dir))
			run(t, shop, "branch", "-D", run(t, shop, "for-each-ref", "--format=%(refname:short)", "refs/heads/bellhop"))
		}, ""},
		"the .git directory is gone": {func(t *testing.T, _, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, ".git")))
		}, "work\n"},
		"a file in place of the .git directory": {func(t *testing.T, _, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, ".git")))
			must(t, os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: /nowhere\n"), 0o600))
		}, "work\n"},
		"its objects/info/alternates names another directory": {func(t *testing.T, _, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, ".git", "objects", "info", "alternates"), []byte("/nowhere\n"), 0o600))
		}, "work\n"},
		"a killed git left the index locked": {func(t *testing.T, _, dir string) {
			lock := filepath.Join(dir, ".git", "index.lock")
			must(t, os.WriteFile(lock, nil, 0o600))
			old := time.Now().Add(-time.Hour)
			must(t, os.Chtimes(lock, old, old))
		}, "work\n"},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newRepository(t)
			projects := map[string]Project{"shop": {Path: shop}}
			k := open(t, projects)
			dir := k.session("s1", "shop")
			commitIn(t, dir)
			must(t, k.Fetch(t.Context(), "s1", "shop"))
			c.harm(t, shop, dir)
			again := openOn(t, k.data, projects)
			checkRepaired(t, again, dir, c.want)
		})
	}
}

// checkRepaired checks that the session has its work and can commit.
func checkRepaired(t *testing.T, k *kit, dir, want string) {
	t.Helper()
	equal(t, "directory", k.session("s1", "shop"), dir)
	content, _ := os.ReadFile(filepath.Join(dir, "work.txt"))
	equal(t, "work", string(content), want)
	write(t, dir, "later.txt", "later\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "--quiet", "-m", "later")
	if !strings.Contains(fileLines(k.diff("s1", "shop")), "added later.txt") {
		t.Errorf("diff %s", fileLines(k.diff("s1", "shop")))
	}
	run(t, dir, "fsck", "--connectivity-only")
}

func TestAProjectThatMoved(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session("s1", "shop")
	write(t, dir, "work.txt", "work\n")
	moved := shop + "-moved"
	must(t, os.Rename(shop, moved))
	_, _, err := k.Dir(t.Context(), "s1", "shop")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the configuration follows: %v", err)
	}
	k = openOn(t, k.data, map[string]Project{"shop": {Path: moved}})
	equal(t, "directory", k.session("s1", "shop"), dir)
	equal(t, "status", run(t, dir, "status", "--porcelain"), "?? work.txt")
}

func TestADataDirectoryThatMoved(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	write(t, k.session("s1", "shop"), "work.txt", "work\n")
	moved := k.data + "-moved"
	must(t, os.Rename(k.data, moved))
	k = openOn(t, moved, map[string]Project{"shop": {Path: shop}})
	dir := k.session("s1", "shop")
	equal(t, "directory", dir, filepath.Join(moved, "workspaces", "s1"))
	equal(t, "status", run(t, dir, "status", "--porcelain"), "?? work.txt")
}

func TestAnInterruptedAttemptIsRepeated(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	for id, project := range map[string]string{"s1": "shop", "s2": ""} {
		dir := k.session(id, project)
		rec, err := k.readRecord(id)
		must(t, err)
		rec.State = stateMaking
		must(t, k.saveRecord(rec))
		must(t, os.RemoveAll(filepath.Join(dir, "README")))
		write(t, dir, "half", "half\n")
		equal(t, "directory", k.session(id, project), dir)
		equal(t, "status", run(t, dir, "status", "--porcelain"), "")
	}
}

func TestRefusedSessionsLeaveNothing(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{
		"empty":             "",
		"the parent":        "..",
		"the directory":     ".",
		"a hidden name":     ".ssh",
		"a way out":         "../../etc",
		"absolute":          "/etc",
		"a backslash":       `a\b`,
		"a NUL":             "a\x00b",
		"a line end":        "a\nb",
		"an option":         "-rf",
		"a workspace's key": "@made",
		"not ASCII":         "sé",
		"longer than 128":   strings.Repeat("a", 129),
		"a percent escape":  "%2e%2e",
	} {
		t.Run(name, func(t *testing.T) {
			k := open(t, nil)
			_, _, err := k.Dir(t.Context(), id, "")
			if protocol.CodeOf(err) != protocol.CodeInvalid {
				t.Errorf("got %v", err)
			}
			if exists(k.data) {
				t.Error("something was made")
			}
		})
	}
}

func TestAnUnknownProjectNamesTheKnownOnes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		projects map[string]Project
		want     string
	}{
		"none":    {nil, "This host has no projects; leave the project out."},
		"several": {map[string]Project{"shop": {Path: "/a"}, "blog": {Path: "/b"}}, "This host knows: blog, shop."},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := open(t, c.projects).Dir(t.Context(), "s1", "../etc")
			refusal := new(protocol.Error)
			if !asError(err, &refusal) || refusal.Code != protocol.CodeInvalid ||
				refusal.Message != `Unknown project "../etc"` || refusal.Hint != c.want {
				t.Errorf("got %#v", err)
			}
		})
	}
}

func TestAMissingProjectIsAnError(t *testing.T) {
	t.Parallel()
	k := open(t, map[string]Project{"shop": {Path: filepath.Join(t.TempDir(), "gone")}})
	if _, _, err := k.Dir(t.Context(), "s1", "shop"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestWithoutGit(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	data := filepath.Join(t.TempDir(), "data")
	m, err := New(Options{
		Data: data, Git: "no-such-git", Projects: map[string]Project{"shop": {Path: shop}, "plain": {Path: t.TempDir()}},
	})
	must(t, err)
	defer m.Close()
	for _, project := range []string{"", "plain"} {
		_, _, err = m.Dir(t.Context(), "s-"+project, project)
		must(t, err)
		_, err = m.Diff(t.Context(), "s-"+project, project)
		errorHint(t, err, protocol.CodeConflict)
	}
	_, _, err = m.Dir(t.Context(), "s2", "shop")
	equal(t, "hint", errorHint(t, err, protocol.CodeConflict), "Install git there and restart the host")
}
