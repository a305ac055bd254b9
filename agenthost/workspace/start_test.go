package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/protocol"
)

// branching is a project with the branches main and release, whose README differs.
func branching(t *testing.T) string {
	t.Helper()
	shop := newRepository(t)
	run(t, shop, "switch", "--quiet", "-c", "release")
	write(t, shop, "README", "release\n")
	run(t, shop, "commit", "--quiet", "-am", "release")
	run(t, shop, "switch", "--quiet", "main")
	return shop
}

func (k *kit) from(id, project, branch string) (string, error) {
	k.Helper()
	dir, _, err := k.DirFrom(k.Context(), id, project, branch)
	return dir, err
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	must(t, err)
	return string(content)
}

func TestASessionStartsFromABranchOfItsProject(t *testing.T) {
	t.Parallel()
	shop := branching(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir, err := k.from("s1", "shop", "release")
	must(t, err)
	equal(t, "README", read(t, dir, "README"), "release\n")
	if branch := run(t, dir, "branch", "--show-current"); !strings.HasPrefix(branch, "bellhop/") {
		t.Errorf("the clone has the branch %s", branch)
	}
	write(t, dir, "new.txt", "new\n")
	equal(t, "diff", fileLines(k.diff("s1", "shop")), "added new.txt")
	equal(t, "project", run(t, shop, "branch", "--show-current"), "main")

	for range 2 { // the broker names the branch with every turn
		again, err := k.from("s1", "shop", "release")
		must(t, err)
		equal(t, "directory", again, dir)
	}
	equal(t, "directory without a branch", k.session("s1", "shop"), dir)
	_, err = k.from("s1", "shop", "main")
	if hint := errorHint(t, err, protocol.CodeConflict); !strings.Contains(hint, `"release"`) {
		t.Errorf("hint %q", hint)
	}
	k.session("s2", "shop")
	_, err = k.from("s2", "shop", "release")
	errorHint(t, err, protocol.CodeConflict)
}

func TestARemovedWorkspaceStartsFromItsBranchAgain(t *testing.T) {
	t.Parallel()
	k := open(t, map[string]Project{"shop": {Path: branching(t)}})
	dir, err := k.from("s1", "shop", "release")
	must(t, err)
	must(t, k.Delete(t.Context(), dir, true))
	equal(t, "README", read(t, k.session("s1", "shop"), "README"), "release\n")
}

func TestAnUnknownBranchIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	shop := branching(t)
	run(t, shop, "branch", "bellhop/other", "release")
	run(t, shop, "tag", "v1", "release")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	for _, branch := range []string{"gone", "releas", "v1", "bellhop/other", "origin/release"} {
		_, err := k.from("s1", "shop", branch)
		if hint := errorHint(t, err, protocol.CodeNoBranch); !strings.Contains(hint, branch) ||
			!strings.Contains(hint, "shop") {
			t.Errorf("%s: hint %q", branch, hint)
		}
	}
	for _, branch := range []string{
		"", "-D", "--output=x", "a..b", "main@{1}", "refs/heads/main", "HEAD", "main\n", "main~0", ":/first",
	} {
		_, err := k.from("s1", "shop", branch)
		errorHint(t, err, protocol.CodeInvalid)
	}
	if records, err := k.readRecords(); err != nil || len(records) != 0 {
		t.Errorf("records %v, %v", records, err)
	}
	dir, err := k.from("s1", "shop", "release") // the corrected task continues
	must(t, err)
	equal(t, "README", read(t, dir, "README"), "release\n")
}

func TestWhereSessionsHaveNoCloneABranchIsRefused(t *testing.T) {
	t.Parallel()
	plain, empty := t.TempDir(), filepath.Join(t.TempDir(), "empty")
	must(t, os.MkdirAll(empty, 0o750))
	run(t, empty, "init", "--quiet")
	k := open(t, map[string]Project{
		"shared": {Path: branching(t), InPlace: true}, "plain": {Path: plain}, "empty": {Path: empty},
	})
	for _, project := range []string{"shared", "plain", "", "unknown"} {
		_, err := k.from("s1", project, "release")
		errorHint(t, err, protocol.CodeInvalid)
	}
	_, err := k.from("s1", "empty", "main")
	errorHint(t, err, protocol.CodeNoBranch)
	for _, p := range k.Projects(t.Context()) {
		if p.Shared != (p.Name == "shared") {
			t.Errorf("%s: shared %t", p.Name, p.Shared)
		}
	}
}

func TestABranchOfAClonedProjectIsTheRemotes(t *testing.T) {
	t.Parallel()
	origin := branching(t)
	k := open(t, map[string]Project{"shop": {Clone: origin, Branch: "main"}})
	k.session("s1", "shop")
	run(t, origin, "switch", "--quiet", "-c", "later")
	write(t, origin, "README", "later\n")
	run(t, origin, "commit", "--quiet", "-am", "later")
	dir, err := k.from("s2", "shop", "later") // pushed after the project was cloned
	must(t, err)
	equal(t, "README", read(t, dir, "README"), "later\n")
	_, err = k.from("s3", "shop", "gone")
	errorHint(t, err, protocol.CodeNoBranch)
}

func TestABranchWithoutTheProjectsDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	run(t, shop, "branch", "before")
	write(t, shop, "web/index.html", "hello\n")
	run(t, shop, "add", ".")
	run(t, shop, "commit", "--quiet", "-m", "web")
	run(t, shop, "branch", "after")
	k := open(t, map[string]Project{"web": {Path: filepath.Join(shop, "web")}})
	_, err := k.from("s1", "web", "before")
	if hint := errorHint(t, err, protocol.CodeNoBranch); !strings.Contains(hint, "before") {
		t.Errorf("hint %q", hint)
	}
	dir, err := k.from("s1", "web", "after")
	must(t, err)
	equal(t, "index.html", read(t, dir, "index.html"), "hello\n")
}

// A branch's name never becomes an option of git or a program, and the project's configuration starts none.
func TestAHostileProjectStartsNoProgramForABranch(t *testing.T) {
	t.Parallel()
	shop := branching(t)
	mark := filepath.Join(t.TempDir(), "ran")
	for _, setting := range []string{
		"core.fsmonitor", "core.sshCommand", "filter.x.smudge", "filter.x.clean", "core.alternateRefsCommand",
	} {
		run(t, shop, "config", setting, "touch "+mark)
	}
	write(t, shop, ".git/info/attributes", "* filter=x\n")
	write(t, shop, ".git/hooks/post-checkout", "#!/bin/sh\ntouch "+mark+"\n")
	must(t, os.Chmod(filepath.Join(shop, ".git/hooks/post-checkout"), 0o700))
	k := open(t, map[string]Project{"shop": {Path: shop}})
	_, err := k.from("s1", "shop", "release")
	must(t, err)
	if exists(mark) {
		t.Error("a program of the repository ran")
	}
}
