package workspace

import (
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost/workspace/worktreetest"
	"bellhop/protocol"
)

// The files of a repository that an agent has made inside a workspace are shown and committed as any others, and its history
// exists only in the workspace.
func TestFilesOfRepositoriesInsideAreCommitted(t *testing.T) {
	t.Parallel()
	const commit = "git add -A; git commit -qm inner"
	for name, c := range map[string]struct{ script, files, inner string }{
		"a new one without a commit": {"git init -q app; echo a >app/a; mkdir app/src; echo b >app/src/b", "added app/a; added app/src/b", "app"},
		"one with a commit":          {"git init -q app; echo a >app/a; cd app; " + commit + "; echo b >b", "added app/a; added app/b", "app"},
		"one in the index":           {"git init -q app; echo a >app/a; (cd app; " + commit + "); git add app", "added app/a", "app"},
		"one that the agent has committed": {
			"git init -q app; echo a >app/a; (cd app; " + commit + "); git add app; git commit -qm link", "added app/a", "app",
		},
		"a clone":                         {"git clone -q . app", "added app/.gitignore; added app/README; added app/old.txt; added app/tracked/x", "app"},
		"several levels":                  {"git init -q a; echo 1 >a/1; git init -q a/d/b; echo 2 >a/d/b/2; git init -q a/d/b/c; echo 3 >a/d/b/c/3", "added a/1; added a/d/b/2; added a/d/b/c/3", "a a/d/b a/d/b/c"},
		"one with rules of its own":       {"git init -q app; cd app; echo '*.o' >.gitignore; echo a >a.o; echo b >b; echo b >.git/info/exclude", "added app/.gitignore; added app/b", "app"},
		"one in an ignored directory":     {"mkdir ignored; git init -q ignored/app; echo a >ignored/app/a; echo n >n", "added n", ""},
		"one whose git directory is away": {"git init -q --separate-git-dir .git/away app; echo a >app/a", "added app/a", "app"},
		"a linked work tree":              {"git worktree add -q --detach linked; echo b >linked/b; rm -r linked/README linked/old.txt linked/tracked linked/.gitignore", "added linked/b", "linked"},
		"one around tracked files":        {"git init -q tracked; echo y >tracked/y", "added tracked/y", "tracked"},
		"one in the place of tracked files": {
			"rm -r tracked; git init -q tracked; echo a >tracked/a; (cd tracked; " + commit + "); git add -A", "added tracked/a; deleted tracked/x", "tracked",
		},
		"one in the place of a file": {"rm README; git init -q README; echo a >README/a", "deleted README; added README/a", "README"},
		"damaged":                    {"mkdir -p app/.git; echo a >app/a", "added app/a", "app"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := newRepository(t)
			write(t, shop, "tracked/x", "x\n")
			run(t, shop, "add", ".")
			run(t, shop, "commit", "--quiet", "-m", "second")
			k := open(t, map[string]Project{"shop": {Path: shop}})
			dir := k.session(uuid, "shop")
			must(t, k.Begin(t.Context(), dir))
			worktreetest.Shell(t, dir, c.script)

			shown := k.diff(uuid, "shop")
			equal(t, "shown", fileLines(shown), c.files)
			equal(t, "repositories inside", strings.Join(shown.InnerRepositories, " "), c.inner)
			info, err := k.Info(t.Context(), dir)
			if err != nil || !info.Dirty {
				t.Errorf("%+v is no unfinished work, %v", info, err)
			}
			done := k.commit(uuid, "shop", "Work")
			equal(t, "repositories named with the commit", strings.Join(done.InnerRepositories, " "), c.inner)
			if links := worktreetest.Shell(t, dir, "git ls-tree -r HEAD | grep ^160000"); links != "" {
				t.Errorf("the commit has links: %s", links)
			}
			equal(t, "files of the commit", strings.TrimSpace(worktreetest.Shell(t, dir, "git status --porcelain")), "")
			equal(t, "shown after the commit", fileLines(k.diff(uuid, "shop")), c.files)
			if only := k.onlyLines(dir); c.inner != "" && !strings.Contains(only, "repository "+strings.Fields(c.inner)[0]) {
				t.Errorf("the history is not named: %s", only)
			}
			if name == "one in the place of a file" { // its history would be lost
				err := k.tryDiscard(uuid, "shop", pathsOf(shown)...)
				if errorHint(t, err, protocol.CodeConflict); !strings.Contains(err.Error(), "README/.git/") || exists(filepath.Join(dir, ".bellhop")) {
					t.Error(err)
				}
				return
			}
			must(t, k.tryDiscard(uuid, "shop", pathsOf(shown)...))
			if name == "one with rules of its own" { // its .gitignore is gone
				c.files = "added app/a.o"
			} else {
				c.files = ""
			}
			equal(t, "after a discard", fileLines(k.diff(uuid, "shop")), c.files)
		})
	}
}

func pathsOf(diff *protocol.Diff) []string {
	var paths []string
	for _, f := range diff.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

// A bare repository inside is a directory with files, as for git.
func TestABareRepositoryInsideIsFiles(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	worktreetest.Shell(t, dir, "git init -q --bare --template= b.git")
	equal(t, "shown", fileLines(k.diff(uuid, "shop")), "added b.git/HEAD; added b.git/config")
	k.commit(uuid, "shop", "Work")
	equal(t, "status", run(t, dir, "status", "--porcelain"), "")
}

// A repository inside counts for the limits as any directory.
func TestAHugeRepositoryInsideIsRefusedWithAHint(t *testing.T) {
	t.Parallel()
	k, _, dir := cloned(t)
	k.limits.Files = 3
	worktreetest.Shell(t, dir, "git init -q app; for i in 1 2 3 4; do echo $i >app/$i; done")
	_, err := k.Diff(t.Context(), uuid, "shop")
	equal(t, "hint", errorHint(t, err, protocol.CodeConflict), "List packages and build output in .gitignore")
}

// A submodule stays a commit of another repository.
func TestASubmoduleThatIsAddedIsALink(t *testing.T) {
	t.Parallel()
	lib := newRepository(t)
	k, _, dir := cloned(t)
	run(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "lib")
	diff := k.diff(uuid, "shop")
	equal(t, "shown", fileLines(diff), "added .gitmodules; added lib")
	done := k.commit(uuid, "shop", "Work")
	if len(diff.InnerRepositories)+len(done.InnerRepositories) > 0 {
		t.Errorf("%v, %v", diff.InnerRepositories, done.InnerRepositories)
	}
	equal(t, "link", strings.Fields(run(t, dir, "ls-tree", "HEAD", "lib"))[0], "160000")
	write(t, filepath.Join(dir, "lib"), "new", "n\n")
	run(t, filepath.Join(dir, "lib"), "add", ".")
	run(t, filepath.Join(dir, "lib"), "commit", "--quiet", "-m", "new")
	run(t, dir, "rm", "--quiet", "--cached", ".gitmodules")
	equal(t, "another commit", fileLines(k.diff(uuid, "shop")), "added .gitmodules; added lib")
}
