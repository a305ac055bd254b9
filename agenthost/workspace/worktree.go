package workspace

// Sessions of earlier versions work in linked worktrees of their project's
// repository. No new ones are made; these functions keep the old ones working.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/protocol"
)

// removeRemains removes the remains of an interrupted attempt to make a workspace.
// It refuses (CodeConflict) if the record is ready: an agent has worked there.
func (m *Manager) removeRemains(ctx context.Context, rec *record, src *source, path string) error {
	if _, err := os.Lstat(path); err == nil {
		if rec.State == stateReady {
			return &protocol.Error{
				Code: protocol.CodeConflict, Message: "The session's workspace is no git repository any more",
				Hint: "Look at " + path + " on the agent host, and move it away: it is made anew from the branch " + rec.Branch,
			}
		}
		if err := removeAll(path); err != nil {
			return err
		}
	}
	// Git's entry for a missing worktree would make "worktree add" fail.
	for name, at := range worktrees(src.gitDir) {
		if samePath(at, path) {
			if err := removeAll(filepath.Join(src.gitDir, "worktrees", name)); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// worktrees maps the names of a repository's worktrees to their directories.
func worktrees(common string) map[string]string {
	found := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if err != nil {
		return found
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(common, "worktrees", entry.Name(), "gitdir"))
		if err == nil {
			found[entry.Name()] = filepath.Dir(strings.TrimSpace(string(content)))
		}
	}
	return found
}

// repairWorktree links a worktree after the repository or the data directory moved,
// and removes a stale index lock. A removed one is made again, as a clone.
func (m *Manager) repairWorktree(ctx context.Context, rec *record) error {
	src, err := m.followProject(ctx, rec)
	if err != nil {
		return err
	}
	path, gitDir := m.rootDir(rec), filepath.Join(src.gitDir, "worktrees", rec.Worktree)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		m.log.Warn("restore a removed worktree from its branch, as a clone", "workspace", rec.Key, "branch", rec.Branch)
		rec.Kind, rec.Worktree = kindClone, ""
		return errors.Join(m.addClone(ctx, rec, src), m.saveRecord(rec))
	}
	if !isLinked(path, gitDir) {
		if _, err := os.Lstat(gitDir); err != nil {
			return m.removeRemains(ctx, rec, src, path)
		}
		m.log.Warn("link a worktree to its repository again", "workspace", rec.Key)
		err = linkWorktree(path, gitDir)
	}
	if root, rootErr := os.OpenRoot(gitDir); rootErr == nil {
		defer root.Close()
		m.removeStaleLock(root, "index.lock")
	}
	return err
}

// linkWorktree writes the files by which a worktree and its repository name each
// other. It does not read them: an agent may have changed them.
func linkWorktree(path, gitDir string) error {
	err := errors.Join(
		writeFile(filepath.Join(gitDir, "gitdir"), []byte(filepath.Join(path, ".git")+"\n")),
		replaceFile(filepath.Join(path, ".git"), []byte("gitdir: "+gitDir+"\n")),
	)
	if err != nil {
		return fmt.Errorf("repair the worktree: %w", err)
	}
	return nil
}

// replaceFile replaces any entry but a directory with a file. Links that the agent has
// made are not followed.
func replaceFile(path string, content []byte) error {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return protocol.Errorf(protocol.CodeConflict, "%s is a directory", path)
	}
	return writeFile(path, content)
}

// staleLock is longer than git takes to write a file that it has locked.
const staleLock = 2 * time.Minute

// removeStaleLock removes a lock of this name that a killed git left behind. With the lock
// of the index, every git command of the agent would fail.
func (m *Manager) removeStaleLock(gitDir *os.Root, name string) {
	info, err := gitDir.Lstat(name)
	if err != nil || m.now().Sub(info.ModTime()) < staleLock {
		return
	}
	m.log.Warn("removed a stale lock of git", "directory", gitDir.Name(), "name", name, "error", gitDir.Remove(name))
}

// isLinked reports whether the files of the worktree and of its repository name
// each other.
func isLinked(path, gitDir string) bool {
	gitDirOfTree, err := readGitFile(path)
	if err != nil || !samePath(gitDirOfTree, gitDir) {
		return false
	}
	treeOfGitDir, err := os.ReadFile(filepath.Join(gitDir, "gitdir"))
	return err == nil && samePath(strings.TrimSpace(string(treeOfGitDir)), filepath.Join(path, ".git"))
}

// samePath reports whether two paths name the same entry, which need not exist.
// Git resolves symbolic links, so the parents may be written differently.
func samePath(a, b string) bool {
	if a == b {
		return true
	}
	if filepath.Base(a) != filepath.Base(b) {
		return false
	}
	one, err1 := os.Stat(filepath.Dir(a))
	two, err2 := os.Stat(filepath.Dir(b))
	return err1 == nil && err2 == nil && os.SameFile(one, two)
}

// readGitFile returns the path that a worktree's .git file names.
func readGitFile(path string) (string, error) {
	name := filepath.Join(path, ".git")
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 16<<10 {
		return "", protocol.Errorf(protocol.CodeConflict, "%s is not the .git file of a worktree", name)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(strings.TrimPrefix(string(content), "gitdir:")), nil
}

// hasSubmodules reports whether a submodule is checked out. Its content is not
// inspected, so it counts as unfinished work.
func (m *Manager) hasSubmodules(rec *record, repo repository) bool {
	if rec.Kind != kindClone && rec.Kind != kindOwn {
		entries, err := os.ReadDir(filepath.Join(repo.gitDir, "modules"))
		return err == nil && len(entries) > 0
	}
	agent, err := m.openGitDir(rec)
	if err != nil {
		return true
	}
	defer agent.Close()
	names, err := readDir(agent, "modules")
	return err != nil || len(names) > 0
}

func hasEntries(path string) (bool, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return len(entries) > 0, err
}
