package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const sessionRef = "refs/heads/bellhop/2c3d4e5f"

// cloned opens a manager with one session in a clone of shop.
func cloned(t *testing.T) (k *kit, shop, dir string) {
	t.Helper()
	shop = newRepository(t)
	k = open(t, map[string]Project{"shop": {Path: shop}})
	return k, shop, k.session(uuid, "shop")
}

func (k *kit) fetchWork() {
	k.Helper()
	must(k.T, k.Fetch(k.Context(), uuid, "shop"))
}

func TestCommitsAreFetchedIntoTheProject(t *testing.T) {
	t.Parallel()
	k, shop, dir := cloned(t)
	before := run(t, shop, "count-objects", "-v")
	commitIn(t, dir)
	equal(t, "the project before the fetch", run(t, shop, "count-objects", "-v"), before)
	k.fetchWork()
	equal(t, "fetched", run(t, shop, "rev-parse", sessionRef), run(t, dir, "rev-parse", "HEAD"))
	run(t, dir, "commit", "--quiet", "--amend", "-m", "amended")
	run(t, dir, "gc", "--quiet", "--prune=now")
	k.fetchWork()
	equal(t, "rewritten", run(t, shop, "log", "-1", "--format=%s", sessionRef), "amended")
	equal(t, "whole", run(t, shop, "fsck", "--no-dangling", "--no-progress"), "")
	again := openOn(t, k.data, map[string]Project{"shop": {Path: shop}})
	again.fetchWork()
	info, err := again.Info(t.Context(), dir)
	if err != nil || info.Unpushed != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestABranchThatAPersonUsesIsNotMoved(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(t *testing.T, shop string){
		"checked out": func(t *testing.T, shop string) { run(t, shop, "checkout", "--quiet", "bellhop/2c3d4e5f") },
		"checked out elsewhere": func(t *testing.T, shop string) {
			run(t, shop, "worktree", "add", "--quiet", shop+"-two", "bellhop/2c3d4e5f")
		},
		"with a commit of the person": func(t *testing.T, shop string) {
			run(t, shop, "branch", "--force", "bellhop/2c3d4e5f", personCommit(t, shop))
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, shop, dir := cloned(t)
			use(t, shop)
			before := run(t, shop, "rev-parse", sessionRef)
			commitIn(t, dir)
			k.fetchWork()
			equal(t, "the branch", run(t, shop, "rev-parse", sessionRef), before)
			if !strings.Contains(k.log.String(), "is not updated in the project") {
				t.Errorf("log: %s", k.log)
			}
		})
	}
}

func personCommit(t *testing.T, shop string) string {
	t.Helper()
	run(t, shop, "commit", "--quiet", "--allow-empty", "-m", "by a person")
	id := run(t, shop, "rev-parse", "HEAD")
	run(t, shop, "reset", "--quiet", "--hard", "HEAD~1")
	return id
}

// A repository that the agent turned against the host: none of these may bring
// another repository's content into the project or into a diff.
func TestAnotherRepositoryIsNotReachedThroughAClone(t *testing.T) {
	t.Parallel()
	for name, point := range map[string]func(t *testing.T, gitDir, secret string){
		"alternates": func(t *testing.T, gitDir, secret string) {
			write(t, gitDir, "objects/info/alternates", filepath.Join(secret, ".git", "objects")+"\n")
		},
		"a link to its packs": func(t *testing.T, gitDir, secret string) {
			must(t, os.RemoveAll(filepath.Join(gitDir, "objects", "pack")))
			must(t, os.Symlink(filepath.Join(secret, ".git", "objects", "pack"), filepath.Join(gitDir, "objects", "pack")))
		},
		"a link to its objects": func(t *testing.T, gitDir, secret string) {
			must(t, os.RemoveAll(filepath.Join(gitDir, "objects")))
			must(t, os.Symlink(filepath.Join(secret, ".git", "objects"), filepath.Join(gitDir, "objects")))
		},
		"links to its packed files": func(t *testing.T, gitDir, secret string) {
			packs, err := filepath.Glob(filepath.Join(secret, ".git", "objects", "pack", "*"))
			must(t, err)
			for _, pack := range packs {
				must(t, os.Symlink(pack, filepath.Join(gitDir, "objects", "pack", filepath.Base(pack))))
			}
		},
		"a link to its git directory": func(t *testing.T, gitDir, secret string) {
			must(t, os.RemoveAll(gitDir))
			must(t, os.Symlink(filepath.Join(secret, ".git"), gitDir))
		},
		"a common directory": func(t *testing.T, gitDir, secret string) {
			write(t, gitDir, "commondir", filepath.Join(secret, ".git")+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, shop, dir := cloned(t)
			secret := newRepository(t)
			write(t, secret, "secret.txt", "canary\n")
			run(t, secret, "add", ".")
			run(t, secret, "commit", "--quiet", "-m", "secret")
			run(t, secret, "repack", "--quiet", "-ad")
			commit, blob := run(t, secret, "rev-parse", "HEAD"), run(t, secret, "rev-parse", "HEAD:secret.txt")
			run(t, dir, "update-index", "--add", "--cacheinfo", "100644,"+blob+",secret.txt")
			run(t, dir, "update-index", "--skip-worktree", "secret.txt")
			must(t, os.MkdirAll(filepath.Join(dir, ".git", filepath.Dir(sessionRef)), 0o700))
			write(t, filepath.Join(dir, ".git"), sessionRef, commit+"\n")
			point(t, filepath.Join(dir, ".git"), secret)
			_ = k.Fetch(t.Context(), uuid, "shop") // the agent spoiled its own repository
			if diff, err := k.Diff(t.Context(), uuid, "shop"); err == nil && strings.Contains(diff.Patch, "canary") {
				t.Error("the diff shows another repository's file")
			}
			if tryRun(shop, "cat-file", "-e", commit) == nil || tryRun(shop, "cat-file", "-e", blob) == nil {
				t.Error("another repository's objects are in the project")
			}
			equal(t, "the other repository", run(t, secret, "status", "--porcelain"), "")
			k.session(uuid, "shop") // the session continues
			equal(t, "the other repository", run(t, secret, "rev-parse", "main"), commit)
		})
	}
}

// Files of the git directory that block a reader, or are none.
func TestAGitDirectoryOfFIFOsBlocksNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"HEAD", "index", "packed-refs", "refs/heads/fifo", "objects/pack", "objects/aa", "info/exclude", "shallow",
	} {
		t.Run(name, func(t *testing.T) {
			k, _, dir := cloned(t)
			path := filepath.Join(dir, ".git", name)
			must(t, os.RemoveAll(path))
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must(t, unix.Mkfifo(path, 0o600))
			_, _ = k.Info(t.Context(), dir)
			_, _ = k.Diff(t.Context(), uuid, "shop")
			only, err := k.Remove(t.Context(), uuid, "")
			kept := only.Exist()
			if err != nil {
				t.Errorf("kept %v, %v", kept, err)
			}
		})
	}
}

func TestACloneHasTheProjectsHistoryAndRemotes(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	run(t, shop, "tag", "v1")
	run(t, shop, "branch", "next")
	run(t, shop, "branch", "bellhop/other")
	run(t, shop, "remote", "add", "origin", "https://ada:canary@127.0.0.1:1/shop.git")
	run(t, shop, "config", "user.name", "Grace")
	run(t, shop, "config", "core.fsmonitor", "true")
	write(t, shop, ".git/info/exclude", "*.tmp\n")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session(uuid, "shop")
	equal(t, "refs", run(t, dir, "for-each-ref", "--format=%(refname)"),
		"refs/heads/bellhop/2c3d4e5f\nrefs/heads/main\nrefs/heads/next\nrefs/tags/v1")
	equal(t, "remote", run(t, dir, "config", "remote.origin.url"), "https://127.0.0.1:1/shop.git")
	equal(t, "author", run(t, dir, "config", "user.name"), "Grace")
	if tryRun(dir, "config", "--local", "core.fsmonitor") == nil {
		t.Error("a setting that starts a program is copied")
	}
	write(t, dir, "x.tmp", "x")
	equal(t, "excluded", fileLines(k.diff(uuid, "shop")), "")
}

func TestACloneOfAProjectWithSHA256Objects(t *testing.T) {
	t.Parallel()
	shop := t.TempDir()
	run(t, shop, "init", "--quiet", "--object-format=sha256", "--initial-branch=main")
	write(t, shop, "README", "shop\n")
	run(t, shop, "add", ".")
	run(t, shop, "commit", "--quiet", "-m", "first")
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session(uuid, "shop")
	commitIn(t, dir)
	equal(t, "diff", fileLines(k.diff(uuid, "shop")), "added work.txt")
	k.fetchWork()
	equal(t, "fetched", run(t, shop, "rev-parse", sessionRef), run(t, dir, "rev-parse", "HEAD"))
}

func TestACloneOfAShallowProject(t *testing.T) {
	t.Parallel()
	origin := newRepository(t)
	commitIn(t, origin)
	shop := filepath.Join(t.TempDir(), "shop")
	run(t, origin, "clone", "--quiet", "--depth=1", "file://"+origin, shop)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session(uuid, "shop")
	write(t, dir, "more.txt", "more\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "--quiet", "-m", "more")
	k.fetchWork()
	equal(t, "fetched", run(t, shop, "log", "--format=%s", sessionRef), "more\nwork")
}
