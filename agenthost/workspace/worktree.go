package workspace

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

// makeForProject creates a worktree if the project has commits. Otherwise the
// session works in the project's own directory.
func (m *Manager) makeForProject(ctx context.Context, rec *record, p Project) error {
	if p.InPlace {
		return m.makeShared(ctx, rec, p)
	}
	src, err := m.source(ctx, rec.Project, true)
	if err != nil {
		return err
	}
	if src == nil || src.startCommit == "" {
		if src != nil {
			m.log.Warn("a project without a commit has no worktrees: its directory is used", "project", rec.Project)
		}
		return m.makeShared(ctx, rec, p)
	}
	// An earlier record may have had another git directory or base.
	rec.Kind, rec.Repository, rec.Prefix, rec.Base = kindWorktree, src.gitDir, src.prefix, src.startCommit
	if err := m.saveRecord(rec); err != nil {
		return err
	}
	return m.addWorktree(ctx, rec, src)
}

// addWorktree checks a worktree out, on its branch if there is one already.
func (m *Manager) addWorktree(ctx context.Context, rec *record, src *source) error {
	path := m.rootDir(rec)
	if err := m.removeRemains(ctx, rec, src, path); err != nil {
		return err
	}
	args, err := m.worktreeArgs(ctx, rec, src, path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	release, err := m.repoLocks.acquire(ctx, src.gitDir)
	if err != nil {
		return err
	}
	defer release()
	_, err = m.git.run(ctx, call{dir: filepath.Dir(path), repo: repository{gitDir: src.gitDir}, args: args, time: cloneTimeout})
	if err != nil {
		return errAddWorktree(rec.Project, err)
	}
	if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // a directory needs x
		return err
	}
	return m.recordWorktree(ctx, rec)
}

// worktreeArgs chooses and records a branch if the record has none, and returns
// the arguments of "git worktree add". The branch is created if it is missing.
func (m *Manager) worktreeArgs(ctx context.Context, rec *record, src *source, path string) ([]string, error) {
	if rec.Branch == "" {
		branch, err := m.newBranch(ctx, rec, src)
		if err != nil {
			return nil, err
		}
		rec.Branch = branch
		if err := m.saveRecord(rec); err != nil {
			return nil, err
		}
	}
	args := []string{"worktree", "add", "--quiet", "--force"}
	hasBranch, err := m.hasCommit(ctx, src, "refs/heads/"+rec.Branch)
	if hasBranch {
		return append(args, "--", path, rec.Branch), err
	}
	return append(args, "--no-track", "-b", rec.Branch, "--", path, rec.Base), err
}

// recordWorktree records git's name of the worktree, and adds a ref to its base so
// that git does not collect the commit.
func (m *Manager) recordWorktree(ctx context.Context, rec *record) error {
	gitDir, err := readGitFile(m.rootDir(rec))
	if err != nil {
		return err
	}
	rec.Worktree = filepath.Base(gitDir)
	repo, err := m.repository(ctx, rec)
	if err != nil {
		return err
	}
	_, err = m.git.run(ctx, call{repo: repo, noFiles: true, args: []string{"update-ref", "refs/worktree/bellhop-base", rec.Base}})
	return err
}

// removeRemains removes the remains of an interrupted attempt to add a worktree.
// It refuses (CodeConflict) if the record is ready: an agent has worked there.
func (m *Manager) removeRemains(ctx context.Context, rec *record, src *source, path string) error {
	if _, err := os.Lstat(path); err == nil {
		if rec.State == stateReady {
			return &protocol.Error{
				Code: protocol.CodeConflict, Message: "The session's workspace is no git worktree any more",
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

// newBranch returns a branch name that the repository does not have.
func (m *Manager) newBranch(ctx context.Context, rec *record, src *source) (string, error) {
	short := shortID(rec)
	for _, name := range []string{"bellhop/" + short, "bellhop/" + short + "-" + shortHash(rec.Key), "bellhop-" + short + "-" + shortHash(rec.Key)} {
		// Git cannot create bellhop/x if a branch "bellhop" exists.
		isTaken := false
		for _, ref := range []string{name, strings.Split(name, "/")[0]} {
			ok, err := m.hasCommit(ctx, src, "refs/heads/"+ref)
			if err != nil {
				return "", err
			}
			isTaken = isTaken || ok
		}
		if !isTaken {
			return name, nil
		}
	}
	return "", protocol.Errorf(protocol.CodeConflict, "The branches that a session of %s would get are taken", rec.Project)
}

// shortID returns the random end of a UUID. Other ids may hold characters that a
// branch must not, so they are hashed.
func shortID(rec *record) string {
	id := rec.Session
	if id == "" {
		return strings.Trim(strings.TrimPrefix(rec.Key, "@"), ".")
	}
	if len(id) == 36 && strings.Count(id, "-") == 4 {
		return strings.ToLower(id[28:])
	}
	return shortHash(id)[:8]
}

func (m *Manager) hasCommit(ctx context.Context, src *source, ref string) (bool, error) {
	_, err := m.git.run(ctx, call{
		dir: m.data, repo: repository{gitDir: src.gitDir}, noFiles: true,
		args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"},
	})
	if err != nil && !exitedWith(err, 1) && !exitedWith(err, 128) {
		return false, err
	}
	return err == nil, nil
}

// repairWorktree creates a removed worktree again, links it after the repository
// or the data directory moved, and removes a stale index lock.
func (m *Manager) repairWorktree(ctx context.Context, rec *record) error {
	src, err := m.recordSource(ctx, rec)
	if err != nil {
		return err
	}
	if rec.Repository != src.gitDir { // the project's directory moved
		rec.Repository = src.gitDir
		if err := m.saveRecord(rec); err != nil {
			return err
		}
	}
	path, gitDir := m.rootDir(rec), filepath.Join(src.gitDir, "worktrees", rec.Worktree)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		m.log.Warn("restore a removed worktree from its branch", "workspace", rec.Key, "branch", rec.Branch)
		return errors.Join(m.addWorktree(ctx, rec, src), m.saveRecord(rec))
	}
	if !isLinked(path, gitDir) {
		if _, err := os.Lstat(gitDir); err != nil {
			return m.removeRemains(ctx, rec, src, path)
		}
		m.log.Warn("link a worktree to its repository again", "workspace", rec.Key)
		err = linkWorktree(path, gitDir)
	}
	m.removeStaleLock(filepath.Join(gitDir, "index.lock"))
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

// replaceFile replaces any entry but a directory with a file.
func replaceFile(path string, content []byte) error {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return protocol.Errorf(protocol.CodeConflict, "%s is a directory", path)
	}
	next := path + ".bellhop-new"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// staleLock is longer than git takes to write an index.
const staleLock = 2 * time.Minute

// removeStaleLock removes the index lock that a killed git left behind. With the
// lock, every git command of the agent would fail.
func (m *Manager) removeStaleLock(path string) {
	info, err := os.Lstat(path)
	if err != nil || m.now().Sub(info.ModTime()) < staleLock {
		return
	}
	m.log.Warn("removed a stale index lock", "lock", path, "error", os.Remove(path))
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

func errAddWorktree(project string, err error) error {
	if isGitMissing(err) {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("No worktree of the project %s can be made", project),
		Hint: truncate(stderrOf(err), 300), Err: err,
	}
}

// hasSubmodules reports whether a submodule is checked out. Its content is not
// inspected, so it counts as unfinished work.
func hasSubmodules(repo repository) bool {
	entries, err := os.ReadDir(filepath.Join(repo.gitDir, "modules"))
	return err == nil && len(entries) > 0
}

func hasEntries(path string) (bool, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return len(entries) > 0, err
}
