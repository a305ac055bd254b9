package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/protocol"
)

// workCases change a clone of shop; the flag says whether that is unfinished work.
var workCases = map[string]struct {
	do    func(t *testing.T, shop, dir string)
	holds bool
}{
	"nothing":         {func(*testing.T, string, string) {}, false},
	"a new file":      {func(t *testing.T, _, dir string) { write(t, dir, "a.txt", "a") }, true},
	"a changed file":  {func(t *testing.T, _, dir string) { write(t, dir, "README", "a") }, true},
	"an ignored file": {func(t *testing.T, _, dir string) { write(t, dir, "ignored/a", "a") }, true},
	"ignored files that a tool makes again do not count": {func(t *testing.T, _, dir string) {
		write(t, dir, "ignored/node_modules/a", "a")
	}, false},
	"a commit": {func(t *testing.T, _, dir string) { commitIn(t, dir) }, true},
	"a commit that another branch has": {func(t *testing.T, shop, dir string) {
		commitIn(t, dir)
		run(t, shop, "pull", "--quiet", dir, "HEAD")
	}, false},
	"a commit on another branch": {func(t *testing.T, _, dir string) {
		run(t, dir, "checkout", "--quiet", "-b", "feature")
		commitIn(t, dir)
	}, true},
	"a stash": {func(t *testing.T, _, dir string) {
		write(t, dir, "README", "changed\n")
		run(t, dir, "stash", "--quiet")
	}, true},
	"a commit without a branch": {func(t *testing.T, _, dir string) {
		run(t, dir, "checkout", "--quiet", "--detach")
		commitIn(t, dir)
	}, true},
	"a pushed commit": {func(t *testing.T, shop, dir string) {
		commitIn(t, dir)
		run(t, filepath.Dir(shop), "init", "--quiet", "--bare", "remote.git")
		run(t, dir, "push", "--quiet", filepath.Join(filepath.Dir(shop), "remote.git"), "HEAD:refs/heads/pushed")
		run(t, dir, "fetch", "--quiet", filepath.Join(filepath.Dir(shop), "remote.git"), "pushed:refs/remotes/origin/pushed")
	}, false},
	"a read-only directory": {func(t *testing.T, _, dir string) {
		write(t, dir, "ignored/.cache/x", "x")
		must(t, os.Chmod(filepath.Join(dir, "ignored/.cache"), 0o500)) //nolint:gosec // the case
	}, false},
}

func commitIn(t *testing.T, dir string) {
	t.Helper()
	write(t, dir, "work.txt", "work\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "--quiet", "-m", "work")
}

func TestRemoveKeepsUnfinishedWork(t *testing.T) {
	t.Parallel()
	for name, c := range workCases {
		t.Run(name, func(t *testing.T) {
			shop := newRepository(t)
			k := open(t, map[string]Project{"shop": {Path: shop}})
			dir := k.session("s1", "shop")
			branch := run(t, dir, "branch", "--show-current")
			c.do(t, shop, dir)
			only, err := k.Remove(t.Context(), "s1", "")
			kept := only.Exist()
			if kept != c.holds || err != nil {
				t.Fatalf("kept %v, %v", kept, err)
			}
			if exists(dir) != c.holds || exists(filepath.Join(k.data, "state", "s1")) {
				t.Error("the directories")
			}
			if left := strings.Contains(run(t, shop, "branch", "--list", branch), branch); left != c.holds {
				t.Errorf("the branch is left: %v", left)
			}
			list, err := k.List(t.Context())
			must(t, err)
			if (len(list) == 1) != c.holds || c.holds && !list[0].Gone {
				t.Errorf("listed %+v", list)
			}
		})
	}
}

// Reliability 94: a workspace with uncommitted work is not deleted without force.
func TestDeleteRefusesUnfinishedWork(t *testing.T) {
	t.Parallel()
	for name, c := range workCases {
		t.Run(name, func(t *testing.T) {
			shop := newRepository(t)
			k := open(t, map[string]Project{"shop": {Path: shop}})
			dir := k.session("s1", "shop")
			c.do(t, shop, dir)
			err := k.Delete(t.Context(), dir, false)
			if c.holds {
				if hint := errorHint(t, err, protocol.CodeConflict); hint == "" || !exists(dir) {
					t.Error("no hint, or gone")
				}
				must(t, k.Delete(t.Context(), dir, true))
			} else {
				must(t, err)
			}
			if exists(dir) || exists(filepath.Join(k.data, "workspaces", ".mirrors", "s1")) ||
				run(t, shop, "branch", "--list", "bellhop*") != "" {
				t.Error("something is left")
			}
			_, err = k.Info(t.Context(), dir)
			errorHint(t, err, protocol.CodeNotFound)
			equal(t, "the session gets another", k.session("s1", "shop"), dir)
			equal(t, "from the beginning", run(t, dir, "log", "--format=%s", "-1"), run(t, shop, "log", "--format=%s", "-1"))
		})
	}
}

func TestUnfinishedWorkOfASessionsOwnRepository(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do    func(t *testing.T, dir string)
		holds bool
	}{
		"nothing":  {func(*testing.T, string) {}, false},
		"a file":   {func(t *testing.T, dir string) { write(t, dir, "a", "a") }, true},
		"a commit": {commitIn, true},
		"a commit on a branch that is not checked out": {func(t *testing.T, dir string) {
			run(t, dir, "checkout", "--quiet", "-b", "feature")
			commitIn(t, dir)
			run(t, dir, "checkout", "--quiet", "main")
		}, true},
		"a stash": {func(t *testing.T, dir string) {
			write(t, dir, "a", "a")
			run(t, dir, "add", ".")
			run(t, dir, "stash", "--quiet")
		}, true},
		"the .git directory is gone": {
			func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Join(dir, ".git"))) }, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := open(t, nil)
			dir := k.session("s1", "")
			c.do(t, dir)
			only, err := k.Remove(t.Context(), "s1", "")
			kept := only.Exist()
			if kept != c.holds || err != nil || exists(dir) != c.holds {
				t.Errorf("kept %v, %v", kept, err)
			}
		})
	}
}

func TestAProjectsOwnDirectoryIsNeverRemoved(t *testing.T) {
	t.Parallel()
	plain := t.TempDir()
	k := open(t, map[string]Project{"plain": {Path: plain}})
	k.session("s1", "plain")
	for _, force := range []bool{false, true} {
		errorHint(t, k.Delete(t.Context(), plain, force), protocol.CodeInvalid)
	}
	for _, path := range []string{
		"/", k.data, filepath.Join(k.data, "workspaces"), filepath.Join(k.data, "workspaces", ".records"),
		filepath.Join(k.data, "workspaces", "..", "state"), "--help", "",
	} {
		errorHint(t, k.Delete(t.Context(), path, true), protocol.CodeNotFound)
	}
	only, err := k.Remove(t.Context(), "s1", "")
	kept := only.Exist()
	if kept || err != nil || !exists(plain) {
		t.Errorf("kept %v, %v", kept, err)
	}
	if only, err := k.Remove(t.Context(), "never-seen", ""); only.Exist() || err != nil {
		t.Errorf("got %v, %v", kept, err)
	}
	_, err = k.Remove(t.Context(), "..", "")
	errorHint(t, err, protocol.CodeInvalid)
}

func TestPruneRemovesWorkspacesWithoutSessionAndWork(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	lives, idle, works := k.session("lives", "shop"), k.session("idle", "shop"), k.session("works", "")
	write(t, works, "a.txt", "a")
	made, err := k.Create(t.Context(), "shop", "feature", "")
	must(t, err)
	for _, id := range []string{"idle", "works"} { // deleted by a host that crashed before it checked the work
		must(t, os.RemoveAll(filepath.Join(k.data, "state", id)))
	}
	for _, dry := range []bool{true, false} {
		pruned, kept, err := k.Prune(t.Context(), dry)
		must(t, err)
		if len(pruned) != 1 || pruned[0].Path != idle || exists(idle) != dry {
			t.Errorf("dry %v: %+v", dry, pruned)
		}
		if len(kept) != 1 || kept[0].Path != works || kept[0].OnlyHere.Summary(false) != "1 changed file (a.txt)" {
			t.Errorf("dry %v: kept %+v", dry, kept)
		}
	}
	must(t, k.saveRecord(k.newRecord("cut-short", "cut-short", "")))
	_, _, err = k.Prune(t.Context(), false)
	must(t, err)
	if exists(k.recordPath("cut-short")) {
		t.Error("the record of an attempt is left")
	}
	for _, path := range []string{lives, works, made.Path} {
		if !exists(path) {
			t.Errorf("%s is gone", path)
		}
	}
}

func TestRemovingASessionWhoseWorkspaceIsMissing(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	clean, works := k.session("clean", "shop"), k.session("works", "shop")
	commitIn(t, works)
	must(t, k.Fetch(t.Context(), "works", "shop"))
	for _, dir := range []string{clean, works} {
		must(t, os.RemoveAll(dir))
	}
	errorHint(t, k.Delete(t.Context(), works, false), protocol.CodeConflict)
	must(t, k.Delete(t.Context(), clean, false))
	for _, id := range []string{"clean", "works"} {
		must(t, os.RemoveAll(filepath.Join(k.data, "state", id)))
	}
	_, _, err := k.Prune(t.Context(), false)
	must(t, err)
	list, err := k.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Path != works || list[0].Unpushed != 1 {
		t.Errorf("left %+v, %v", list, err)
	}
	must(t, k.Delete(t.Context(), works, true))
	equal(t, "branches", run(t, shop, "branch", "--format=%(refname:short)"), "main")
}

func TestCreateByName(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	plain := t.TempDir()
	k := open(t, map[string]Project{"shop": {Path: shop}, "plain": {Path: plain}})
	info, err := k.Create(t.Context(), "shop", "fix-1", "")
	must(t, err)
	if info.Path != filepath.Join(k.data, "workspaces", "@fix-1") || info.Branch != "bellhop/fix-1" ||
		info.Session != "" || info.Project != "shop" {
		t.Errorf("got %+v", info)
	}
	for name, c := range map[string]struct {
		project, name string
		code          protocol.Code
	}{
		"taken":                   {"shop", "fix-1", protocol.CodeConflict},
		"an option":               {"shop", "--help", protocol.CodeInvalid},
		"a path":                  {"shop", "a/b", protocol.CodeInvalid},
		"not a branch name":       {"shop", "a..b", protocol.CodeInvalid},
		"a lock's name":           {"shop", "a.lock", protocol.CodeInvalid},
		"an unknown project":      {"nothing", "a", protocol.CodeInvalid},
		"a project used in place": {"plain", "a", protocol.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := k.Create(t.Context(), c.project, c.name, "")
			errorHint(t, err, c.code)
		})
	}
	must(t, k.Delete(t.Context(), info.Path, false))
	_, err = k.Create(t.Context(), "", "fix-1", "")
	must(t, err)
}

func TestANewBranchAvoidsExistingNames(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	run(t, shop, "branch", "bellhop/2c3d4e5f")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	first := run(t, k.session(uuid, "shop"), "branch", "--show-current")
	if first == "bellhop/2c3d4e5f" || !strings.HasPrefix(first, "bellhop/2c3d4e5f-") {
		t.Errorf("got %s", first)
	}
	other := newRepository(t)
	run(t, other, "branch", "bellhop")
	k = open(t, map[string]Project{"shop": {Path: other}})
	if got := run(t, k.session(uuid, "shop"), "branch", "--show-current"); !strings.HasPrefix(got, "bellhop-2c3d4e5f-") {
		t.Errorf("got %s", got)
	}
}

// Who confirms the list that was shown loses what is in it, and nothing else.
func TestRemovingLosesOnlyWhatWasConfirmed(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir, second := k.session("s1", "shop"), k.session("s1", "")
	write(t, dir, "ignored/a", "a")
	write(t, second, "b", "b")
	shown, err := k.OnlyCopies(t.Context(), "s1")
	must(t, err)
	equal(t, "shown", shown.Summary(false), "1 ignored file (shop: ignored/a), 1 changed file (-: b)")
	write(t, second, "b", "other")
	kept, err := k.Remove(t.Context(), "s1", shown.ID)
	if err != nil || kept.Summary(true) != shown.Summary(true) || kept.ID == shown.ID || !exists(dir) || !exists(second) {
		t.Fatalf("kept %+v, %v", kept, err)
	}
	kept, err = k.Remove(t.Context(), "s1", kept.ID)
	if err != nil || kept.Exist() || exists(dir) || exists(second) {
		t.Fatalf("kept %+v, %v", kept, err)
	}
}
