package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost/workspace/worktreetest"
	"bellhop/protocol"
)

// only returns what exists only in a workspace.
func (k *kit) only(dir string) *protocol.OnlyCopies {
	k.Helper()
	rec, err := k.findByPath(dir)
	must(k.T, err)
	list, err := k.onlyCopies(k.Context(), rec)
	must(k.T, err)
	return list
}

// onlyLines formats what exists only in a workspace, one item each.
func (k *kit) onlyLines(dir string) string {
	k.Helper()
	list := k.only(dir)
	var lines []string
	for _, item := range list.Items {
		lines = append(lines, fmt.Sprintf("%s %s %d", item.Kind, item.Name, item.Count))
	}
	return strings.Join(lines, "; ")
}

// onlyCases run a script in a clone of shop, which has the files README, old.txt, .gitignore and tracked/x.
var onlyCases = []struct{ name, script, want string }{
	{"nothing", "true", ""},
	{"a new file", "echo a >a.txt", "changed a.txt 1"},
	{"a changed file", "echo a >>README", "changed README 1"},
	{"a deleted file", "rm README", "changed README 1"},
	{"a change behind assume-unchanged", "git update-index --assume-unchanged README; echo a >>README", "hidden README 1"},
	{"a change behind skip-worktree", "git update-index --skip-worktree README; echo a >>README", "hidden README 1"},
	{"a new file that the agent's own list ignores", "mkdir -p .git/info; echo notes >.git/info/exclude; echo a >notes", "changed notes 1"},
	{
		"content that only the index has", "cp README kept; echo staged >>README; git add README; cp kept README; rm kept",
		"staged README 1",
	},
	{"a new file that only the index has", "echo staged >new; git add new; rm new", "staged new 1"},
	{"ignored files", "mkdir ignored; echo secret >.env; echo a >ignored/a; echo .env >>.git/info/exclude", "changed .env 1; ignored ignored/a 1"},
	{"a link that is ignored", "mkdir ignored; ln -s /etc/passwd ignored/link", "ignored ignored/link 1"},
	{"an ignored file with a name that is not UTF-8", `mkdir ignored; echo a >$'ignored/\xff'`, `ignored ignored/"\377" 1`},
	{
		"ignored files that tools make again", "mkdir -p ignored/node_modules/x ignored/target ignored/__pycache__ ignored/.venv;" +
			"for d in node_modules/x target __pycache__ .venv; do echo a >ignored/$d/a; done; echo a >ignored/a.pyc", "",
	},
	{"a tracked file in an ignored directory", "mkdir ignored; echo a >ignored/a; git add -f ignored/a; git commit -qm a; git push -q . HEAD:refs/remotes/origin/a", ""},
	{"a FIFO that is ignored", "mkdir ignored; mkfifo ignored/fifo", ""},
	{"a repository without a commit", "git init -q app; echo a >app/a; mkdir app/b; echo b >app/b/b", "repository app 2"},
	{"a repository with a commit", "git init -q app; cd app; echo a >a; git add .; git commit -qm a", "repository app 1"},
	{"a repository in an ignored directory", "mkdir ignored; git init -q ignored/app; echo a >ignored/app/a", "repository ignored/app 1"},
	{"a repository around tracked files", "git init -q tracked", "repository tracked 1"},
	{"a damaged repository", "mkdir -p app/.git/objects; echo a >app/.git/objects/a", "repository app 0"},
	{"a repository that is a file", "mkdir app; echo 'gitdir: /elsewhere' >app/.git", "repository app 0"},
	{"a submodule", "git init -q ../lib; (cd ../lib; git commit -q --allow-empty -m l); git -c protocol.file.allow=always submodule --quiet add ../../lib-url lib 2>/dev/null || " +
		"git -c protocol.file.allow=always submodule --quiet add $PWD/../lib lib; git commit -qm s; git push -q . HEAD:refs/remotes/origin/s", "repository lib 0; submodule lib 0"},
	{"files in the place of a submodule", "git init -q ../lib; (cd ../lib; git commit -q --allow-empty -m l); git -c protocol.file.allow=always submodule --quiet add $PWD/../lib lib; " +
		"git commit -qm s; git push -q . HEAD:refs/remotes/origin/s; rm -rf .git/modules lib; mkdir -p lib/d; echo x >lib/d/x", "repository lib 1"},
	{"a submodule's commits without its files", "mkdir -p .git/modules/lib; echo 'ref: refs/heads/main' >.git/modules/lib/HEAD", "submodule lib 0"},
	{"a linked work tree", "git worktree add -q --detach ../linked", "worktree linked 0"},
	{"a commit", "echo a >a; git add a; git commit -qm a", "commits refs/heads/bellhop/2c3d4e5f 1"},
	{"a commit that was pushed", "git commit -q --allow-empty -m a; git push -q . HEAD:refs/remotes/origin/a", ""},
	{"a commit on another branch", "git checkout -q -b other; git commit -q --allow-empty -m a; git checkout -q -", "commits refs/heads/other 1"},
	{"a commit without a branch", "git checkout -q --detach; git commit -q --allow-empty -m a", "commits HEAD 1"},
	{"a commit under two names", "git commit -q --allow-empty -m a; git branch b; git tag c", "commits refs/heads/b 1"},
	{"a commit that only a tag has", "git checkout -q --detach; git commit -q --allow-empty -m a; git tag v1; git checkout -q -", "commits refs/tags/v1 1"},
	{"a commit that only a note has", "git notes add -m note HEAD", "commits refs/notes/commits 1"},
	{"a tag with a message", "git tag -a -m release v1", "object refs/tags/v1 0"},
	{"a tag of a file", "git tag v1 $(echo a | git hash-object -w --stdin)", "object refs/tags/v1 0"},
	{"a stash", "echo a >>README; git stash -q", "stash refs/stash 1"},
	{"two stashes", "for i in 1 2; do echo $i >>README; git stash -q; done", "stash refs/stash 2"},
	{"a commit that was taken back", "git commit -q --allow-empty -m a; git reset -q --hard HEAD^", "reflog logs 1"},
	{"a commit that was replaced", "git commit -q --allow-empty -m a; git commit -q --amend --allow-empty -m b", "commits refs/heads/bellhop/2c3d4e5f 1; reflog logs 1"},
	{"a deleted branch without logs", "git config core.logAllRefUpdates false; git commit -q --allow-empty -m a; git reset -q --hard HEAD^", "reflog logs 1"},
	{"a merge that is not finished", "git checkout -q -b other; echo a >a; git add a; git commit -qm a; git checkout -q -; git merge -q --no-commit --no-ff other; " +
		"git branch -qD other; rm -r .git/logs", "changed a 1; reflog logs 1"},
	{"an index that cannot be read", "echo damaged >.git/index", "unread .git/index 1"},
}

func TestOnlyCopiesOfEachKind(t *testing.T) {
	t.Parallel()
	for _, c := range onlyCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shop := newRepository(t)
			write(t, shop, "tracked/x", "x")
			run(t, shop, "add", ".")
			run(t, shop, "commit", "--quiet", "-m", "second")
			k := open(t, map[string]Project{"shop": {Path: shop}})
			dir := k.session(uuid, "shop")
			must(t, k.Begin(t.Context(), dir))
			worktreetest.Shell(t, dir, c.script)
			equal(t, "only copies", k.onlyLines(dir), c.want)
			one := k.only(dir)
			two := k.only(dir)
			equal(t, "the id of the same state", two.ID, one.ID)
			err := k.Delete(t.Context(), dir, false)
			if isKept := c.want != ""; isKept != (protocol.CodeOf(err) == protocol.CodeConflict) || isKept != exists(dir) {
				t.Errorf("deleting answers %v", err)
			}
		})
	}
}

// A commit that a person adds to a session's branch in the project goes with the branch.
func TestACommitOnTheSessionsBranchOfTheProjectIsAnOnlyCopy(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.session(uuid, "shop")
	branch := run(t, dir, "branch", "--show-current")
	run(t, shop, "checkout", "--quiet", branch)
	commitIn(t, shop)
	run(t, shop, "checkout", "--quiet", "main")
	equal(t, "only copies", k.onlyLines(dir), "commits refs/heads/"+branch+" in the project 1")
}

func TestManyOnlyCopiesAreToldByDirectory(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	dir := k.session("s1", "")
	for i := range maxOnlyCopies {
		write(t, dir, fmt.Sprintf("many/%d/a", i%3), "")
		write(t, dir, fmt.Sprintf("many/%d/%d", i%3, i), "")
	}
	write(t, dir, "few/b", "")
	write(t, dir, "a", "")
	equal(t, "only copies", k.onlyLines(dir), "changed a 1; changed few/b 1; changed many/0/ 68; changed many/1/ 68; changed many/2/ 67")
}

// The id of a list names a state, so a person confirms what was shown.
func TestTheIDOfOnlyCopiesNamesTheirState(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	dir := k.session("s1", "")
	var ids []string
	for _, script := range []string{"true", "echo a >a", "echo b >a", "git add a; git commit -qm a", "git commit -q --amend --allow-empty -m b", "git init -q x"} {
		worktreetest.Shell(t, dir, script)
		list := k.only(dir)
		if slices.Contains(ids, list.ID) {
			t.Errorf("after %q the id is that of another state", script)
		}
		ids = append(ids, list.ID)
	}
}

func TestARepositoryThatCannotBeReadKeepsItsWorkspace(t *testing.T) {
	t.Parallel()
	k := open(t, nil)
	dir := k.session("s1", "")
	must(t, os.RemoveAll(filepath.Join(dir, ".git")))
	must(t, os.RemoveAll(filepath.Join(k.data, "state", "s1")))
	pruned, kept, err := k.Prune(t.Context(), false)
	if err != nil || len(pruned) != 0 || len(kept) != 1 || !exists(dir) {
		t.Fatalf("pruned %+v, kept %+v, %v", pruned, kept, err)
	}
	equal(t, "why", kept[0].OnlyHere.Summary(false), "The session's workspace is no git repository any more")
}
