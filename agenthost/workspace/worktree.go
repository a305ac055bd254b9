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

// makeOfProject gives a worktree where the project has commits, and its
// directory as it is otherwise.
func (m *Manager) makeOfProject(ctx context.Context, rec *record, p Project) error {
	if p.InPlace {
		return m.makeShared(ctx, rec, p)
	}
	src, err := m.source(ctx, rec.Project, true)
	if err != nil {
		return err
	}
	if src == nil || src.base == "" {
		if src != nil {
			m.log.Warn("a project without a commit has no worktrees: its directory is used", "project", rec.Project)
		}
		return m.makeShared(ctx, rec, p)
	}
	// The key may differ from the name that git gave a former one.
	rec.Kind, rec.Repository, rec.Prefix, rec.Base = kindWorktree, src.common, src.prefix, src.base
	if err := m.save(rec); err != nil {
		return err
	}
	return m.addWorktree(ctx, rec, src)
}

// addWorktree checks a worktree out, on its branch if there is one already.
func (m *Manager) addWorktree(ctx context.Context, rec *record, src *source) error {
	path := m.root(rec)
	if err := m.clear(ctx, rec, src, path); err != nil {
		return err
	}
	if rec.Branch == "" {
		branch, err := m.newBranch(ctx, rec, src)
		if err != nil {
			return err
		}
		rec.Branch = branch
		if err := m.save(rec); err != nil {
			return err
		}
	}
	args := []string{"worktree", "add", "--quiet", "--force"}
	if ok, err := m.hasCommit(ctx, src, "refs/heads/"+rec.Branch); err != nil {
		return err
	} else if ok {
		args = append(args, "--", path, rec.Branch)
	} else {
		args = append(args, "--no-track", "-b", rec.Branch, "--", path, rec.Base)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	_, err := m.git.run(ctx, call{dir: filepath.Dir(path), repo: repository{gitDir: src.common}, args: args, time: cloneTime})
	if err != nil {
		return errWorktree(rec.Project, err)
	}
	if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // a directory needs x
		return err
	}
	return m.settle(ctx, rec)
}

// settle remembers the worktree's name, and keeps its base from being collected.
func (m *Manager) settle(ctx context.Context, rec *record) error {
	gitDir, err := pointer(m.root(rec))
	if err != nil {
		return err
	}
	rec.Worktree = filepath.Base(gitDir)
	repo, err := m.repository(ctx, rec)
	if err != nil {
		return err
	}
	_, err = m.git.run(ctx, call{repo: repo, trust: true, args: []string{"update-ref", "refs/worktree/bellhop-base", rec.Base}})
	return err
}

// clear removes what an interrupted attempt left: nobody has worked there.
func (m *Manager) clear(ctx context.Context, rec *record, src *source, path string) error {
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
	// What git still knows of a worktree that is not there.
	for name, at := range worktrees(src.common) {
		if samePath(at, path) {
			if err := removeAll(filepath.Join(src.common, "worktrees", name)); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// worktrees are a repository's, by name, and where they are.
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

// newBranch is a name that the repository does not have.
func (m *Manager) newBranch(ctx context.Context, rec *record, src *source) (string, error) {
	short := shortID(rec)
	for _, name := range []string{"bellhop/" + short, "bellhop/" + short + "-" + shortHash(rec.Key), "bellhop-" + short + "-" + shortHash(rec.Key)} {
		// A branch "bellhop" leaves no room for bellhop/anything.
		taken := false
		for _, ref := range []string{name, strings.Split(name, "/")[0]} {
			ok, err := m.hasCommit(ctx, src, "refs/heads/"+ref)
			if err != nil {
				return "", err
			}
			taken = taken || ok
		}
		if !taken {
			return name, nil
		}
	}
	return "", protocol.Errorf(protocol.CodeConflict, "The branches that a session of %s would get are taken", rec.Project)
}

// shortID is the random end of a UUID, and something like it of other ids: they
// may hold what a branch must not.
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
		dir: m.data, repo: repository{gitDir: src.common}, trust: true,
		args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"},
	})
	if err != nil && !exited(err, 1) && !exited(err, 128) {
		return false, err
	}
	return err == nil, nil
}

// ensureWorktree repairs a worktree that was removed by hand, whose repository
// or whose own place moved, or whose index a killed git left locked.
func (m *Manager) ensureWorktree(ctx context.Context, rec *record) error {
	src, err := m.sourceOf(ctx, rec)
	if err != nil {
		return err
	}
	if rec.Repository != src.common { // the project moved
		rec.Repository = src.common
		if err := m.save(rec); err != nil {
			return err
		}
	}
	path, gitDir := m.root(rec), filepath.Join(src.common, "worktrees", rec.Worktree)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		m.log.Warn("a worktree was removed: it is made again from its branch", "workspace", rec.Key, "branch", rec.Branch)
		return errors.Join(m.addWorktree(ctx, rec, src), m.save(rec))
	}
	if !linked(path, gitDir) {
		if _, err := os.Lstat(gitDir); err != nil {
			return m.clear(ctx, rec, src, path)
		}
		// Both ends are ours to say: neither file is read.
		err := errors.Join(
			writeFile(filepath.Join(gitDir, "gitdir"), []byte(filepath.Join(path, ".git")+"\n")),
			replace(filepath.Join(path, ".git"), []byte("gitdir: "+gitDir+"\n")),
		)
		if err != nil {
			return fmt.Errorf("repair the worktree: %w", err)
		}
		m.log.Warn("a worktree had lost its repository: linked again", "workspace", rec.Key)
	}
	m.unlock(filepath.Join(gitDir, "index.lock"))
	return nil
}

// replace puts a file in the place of anything.
func replace(path string, content []byte) error {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return protocol.Errorf(protocol.CodeConflict, "%s is a directory", path)
	}
	next := path + ".bellhop-new"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// staleLock is older than what git takes to write an index.
const staleLock = 2 * time.Minute

// unlock removes the lock that a git left behind when it was killed: every later
// one of the agent would fail.
func (m *Manager) unlock(path string) {
	info, err := os.Lstat(path)
	if err != nil || m.now().Sub(info.ModTime()) < staleLock {
		return
	}
	m.log.Warn("removing the index lock of a git that is gone", "lock", path, "error", os.Remove(path))
}

// linked reports whether a worktree and its repository know each other.
func linked(path, gitDir string) bool {
	there, err := pointer(path)
	if err != nil || !samePath(there, gitDir) {
		return false
	}
	back, err := os.ReadFile(filepath.Join(gitDir, "gitdir"))
	return err == nil && samePath(strings.TrimSpace(string(back)), filepath.Join(path, ".git"))
}

// samePath also knows two names of one directory: git writes paths with symbolic
// links resolved. What they name need not exist.
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

// pointer reads a worktree's .git file.
func pointer(path string) (string, error) {
	name := filepath.Join(path, ".git")
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 16<<10 {
		return "", protocol.Errorf(protocol.CodeConflict, "%s is not a worktree's file", name)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(strings.TrimPrefix(string(content), "gitdir:")), nil
}

func errWorktree(project string, err error) error {
	if noGit(err) {
		return err
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("No worktree of the project %s can be made", project),
		Hint: cut(said(err), 300), Err: err,
	}
}

// holdsModules reports submodules that somebody filled: their work is not looked
// at, so it counts as unfinished.
func holdsModules(repo repository) bool {
	entries, err := os.ReadDir(filepath.Join(repo.gitDir, "modules"))
	return err == nil && len(entries) > 0
}

func holdsFiles(path string) (bool, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return len(entries) > 0, err
}
