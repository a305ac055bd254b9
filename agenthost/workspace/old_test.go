package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/protocol"
)

// oldWorktree gives a session what earlier versions gave it: a linked worktree of
// its project's repository.
func (k *kit) oldWorktree(id, project, shop string) string {
	k.Helper()
	dir := filepath.Join(k.data, "workspaces", id)
	must(k.T, os.MkdirAll(filepath.Dir(dir), 0o700))
	run(k.T, shop, "worktree", "add", "--quiet", "-b", "bellhop/"+id, dir, "HEAD")
	rec := k.newRecord(id, id, project)
	rec.State, rec.Kind, rec.Repository, rec.Worktree, rec.Branch = stateReady,
		kindWorktree, filepath.Join(shop, ".git"), id, "bellhop/"+id
	rec.Base = run(k.T, shop, "rev-parse", "HEAD")
	must(k.T, k.saveRecord(rec))
	return dir
}

func TestWorktreesOfEarlierVersionsStay(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, shop, dir string){
		"only a restart":         func(*testing.T, string, string) {},
		"the .git file is gone":  func(t *testing.T, _, dir string) { must(t, os.Remove(filepath.Join(dir, ".git"))) },
		"it leads elsewhere":     func(t *testing.T, _, dir string) { write(t, dir, ".git", "gitdir: /nowhere\n") },
		"removed: a clone comes": func(t *testing.T, _, dir string) { must(t, os.RemoveAll(dir)) },
		"pruned: a clone comes":  func(t *testing.T, shop, dir string) { run(t, shop, "worktree", "remove", "--force", dir) },
		"its index stays locked": func(t *testing.T, shop, _ string) {
			lockIndex(t, filepath.Join(shop, ".git", "worktrees", "s1"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newRepository(t)
			k := open(t, map[string]Project{"shop": {Path: shop}})
			dir := k.oldWorktree("s1", "shop", shop)
			commitIn(t, dir)
			harm(t, shop, dir)
			checkRepaired(t, openOn(t, k.data, map[string]Project{"shop": {Path: shop}}), dir, "work\n")
		})
	}
}

func lockIndex(t *testing.T, gitDir string) {
	t.Helper()
	lock := filepath.Join(gitDir, "index.lock")
	must(t, os.WriteFile(lock, nil, 0o600))
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(lock, old, old))
}

func TestAWorktreeOfAnEarlierVersionIsRemoved(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.oldWorktree("s1", "shop", shop)
	commitIn(t, dir)
	errorHint(t, k.Delete(t.Context(), dir, false), protocol.CodeConflict)
	must(t, k.Delete(t.Context(), dir, true))
	if left := run(t, shop, "worktree", "list") + run(t, shop, "branch", "--list", "bellhop*"); strings.Contains(left,
		"s1") {
		t.Errorf("left: %s", left)
	}
}

func TestAWorktreeWhoseProjectMovedIsLinked(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.oldWorktree("s1", "shop", shop)
	write(t, dir, "work.txt", "work\n")
	must(t, os.Rename(shop, shop+"-moved"))
	k = openOn(t, k.data, map[string]Project{"shop": {Path: shop + "-moved"}})
	equal(t, "directory", k.session("s1", "shop"), dir)
	equal(t, "status", run(t, dir, "status", "--porcelain"), "?? work.txt")
}

// The host writes the .git file of a worktree again. A link of the agent must not lead that
// write elsewhere.
func TestALinkedWorktreeWritesNowhereElse(t *testing.T) {
	t.Parallel()
	shop := newRepository(t)
	k := open(t, map[string]Project{"shop": {Path: shop}})
	dir := k.oldWorktree("s1", "shop", shop)
	target := filepath.Join(t.TempDir(), "target")
	must(t, os.WriteFile(target, []byte("own\n"), 0o600))
	must(t, os.Symlink(target, filepath.Join(dir, ".git.bellhop-new")))
	must(t, os.Remove(filepath.Join(dir, ".git")))
	k.session("s1", "shop")
	content, err := os.ReadFile(target)
	must(t, err)
	equal(t, "the target", string(content), "own\n")
	run(t, dir, "status")
}
