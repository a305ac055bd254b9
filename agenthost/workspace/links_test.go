package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/agenthost/workspace/worktreetest"
	"bellhop/protocol"
)

// A push of a commit of a submodule is refused unless its remote has the commit, as far as the workspace knows.
func TestAPushNamesCommitsOfSubmodulesThatNoRemoteHas(t *testing.T) {
	t.Parallel()
	const submodule = "git submodule --quiet add LIB lib; "
	const commit = "git -C lib commit -q --allow-empty -m inner; "
	for name, c := range map[string]struct{ script, refused string }{
		"a commit of its remote":                     {submodule, ""},
		"an older commit of its remote":              {submodule + "git -C lib checkout -q HEAD^; git add lib", ""},
		"a commit of its own":                        {submodule + commit + "git add lib", "lib"},
		"a commit of its own that was pushed":        {submodule + commit + "git -C lib push -q origin HEAD:refs/heads/x; git add lib", ""},
		"a commit of its own on a branch":            {submodule + commit + "git -C lib branch origin/x; git -C lib tag x; git add lib", "lib"},
		"a commit that is nowhere":                   {submodule + "git update-index --cacheinfo 160000,1111111111111111111111111111111111111111,lib", "lib"},
		"without its repository":                     {submodule + "rm -rf lib .git/modules; mkdir lib", "lib"},
		"without its files":                          {submodule + "rm -rf lib; mkdir lib", ""},
		"a repository that is no submodule":          {"git init -q lib; " + commit + "git add lib", "lib"},
		"a repository that is named by a file":       {"git init -q lib; " + commit + "git add lib; rm -rf lib/.git; echo gitdir: ../../../etc >lib/.git", "lib"},
		"a repository behind a link":                 {"git clone -q LIB lib; git add lib; mv lib/.git ../away; ln -s ../../away lib/.git", "lib"},
		"refs of the remote that lead to no objects": {submodule + commit + "git add lib; echo 2222222222222222222222222222222222222222 >.git/modules/lib/refs/remotes/origin/x", "lib"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, bare, dir := withRemote(t)
			lib := libRemote(t)
			worktreetest.Shell(t, dir, strings.ReplaceAll(c.script, "LIB", lib)+"\ngit commit -qm links")
			if links := worktreetest.Shell(t, dir, "git ls-tree HEAD | grep 160000"); links == "" {
				t.Fatal("the commit has no link")
			}
			_, err := k.tryPush("")
			if c.refused == "" {
				must(t, err)
				return
			}
			hint := errorHint(t, err, protocol.CodeConflict)
			id := strings.Fields(run(t, dir, "ls-tree", "HEAD", c.refused))[2]
			if !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), c.refused) || hint == "" {
				t.Error(err)
			}
			if branches := run(t, bare, "branch", "--list", "bellhop/*"); branches != "" {
				t.Errorf("pushed: %s", branches)
			}
		})
	}
}

// Others who check out a commit before the last one need its submodules, too.
func TestAPushNamesCommitsOfSubmodulesOfEachOfItsCommits(t *testing.T) {
	t.Parallel()
	const inner = "git -C lib commit -q --allow-empty -m inner; "
	const first = "git submodule --quiet add LIB lib; git commit -qm lib; "
	for name, c := range map[string]struct {
		script  string
		refused string // commit of the branch whose link no remote has
	}{
		"taken back":                 {first + inner + "git commit -qam own; git -C lib checkout -q HEAD^; git commit -qam back", "HEAD^"},
		"removed":                    {first + inner + "git commit -qam own; git rm -qf lib; git commit -qm gone", "HEAD^"},
		"in a branch that is merged": {first + "git checkout -qb side; " + inner + "git commit -qam own; git checkout -q -; git -C lib checkout -q HEAD^; git merge -q -s ours -m merged side", "side"},
		"pushed by then":             {first + inner + "git commit -qam own; git -C lib push -q origin HEAD:refs/heads/x; git -C lib checkout -q HEAD^; git commit -qam back", ""},
		"of the remote":              {first + "git -C lib checkout -q HEAD^; git commit -qam older; git -C lib checkout -q -; git commit -qam newer", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, _, dir := withRemote(t)
			worktreetest.Shell(t, dir, strings.ReplaceAll(c.script, "LIB", libRemote(t)))
			_, err := k.tryPush("")
			if c.refused == "" {
				must(t, err)
				return
			}
			errorHint(t, err, protocol.CodeConflict)
			if id := strings.Fields(run(t, dir, "ls-tree", c.refused, "lib"))[2]; !strings.Contains(err.Error(), id) {
				t.Error(err)
			}
		})
	}
}

// libRemote returns a bare repository with two commits.
func libRemote(t *testing.T) string {
	t.Helper()
	lib := filepath.Join(t.TempDir(), "lib")
	must(t, os.Mkdir(lib, 0o750))
	run(t, lib, "init", "--quiet", "--initial-branch=main")
	for _, message := range []string{"one", "two"} {
		run(t, lib, "commit", "--quiet", "--allow-empty", "-m", message)
	}
	run(t, lib, "clone", "--quiet", "--bare", ".", lib+".git")
	return lib + ".git"
}

// A commit of a submodule that the base of the branch has at the remote is nothing new.
func TestAnUnchangedSubmoduleIsPushed(t *testing.T) {
	t.Parallel()
	lib, shop := libRemote(t), newRepository(t)
	worktreetest.Shell(t, shop, "git submodule --quiet add "+lib+" lib; git commit -qm lib")
	bare := bareOf(t, shop)
	addOrigin(t, shop, bare)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session(uuid, "shop")
	commitIn(t, dir)
	must1(t)(k.tryPush(""))
	pushedByOthers(t, bare, "main") // the workspace does not have the base's commit
	run(t, shop, "fetch", "--quiet", "origin", "+"+run(t, shop, "rev-parse", "main")+":refs/remotes/origin/main")
	write(t, dir, "more", "more\n")
	k.commit(uuid, "shop", "More")
	must1(t)(k.tryPush(""))
	run(t, dir, "update-index", "--cacheinfo", "160000,1111111111111111111111111111111111111111,lib")
	run(t, dir, "commit", "--quiet", "-m", "another")
	_, err := k.tryPush("")
	errorHint(t, err, protocol.CodeConflict)
}
