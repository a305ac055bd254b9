package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"bellhop/protocol"
)

// makeOwn gives a session without a project a repository of its own: agents
// expect one, and its empty first commit is what the diff is against.
func (m *Manager) makeOwn(ctx context.Context, rec *record) error {
	if m.git.program == "" {
		return m.makeFound(ctx, rec)
	}
	rec.Kind = kindOwn
	if err := m.save(rec); err != nil {
		return err
	}
	path := m.root(rec)
	if err := removeAll(path); err != nil { // what an interrupted attempt left
		return err
	}
	if err := m.private("workspaces", rec.Key); err != nil {
		return err
	}
	repo := repository{gitDir: filepath.Join(path, ".git"), workTree: path}
	_, err := m.git.run(ctx, call{dir: path, trust: true, args: []string{"init", "--quiet", "--template=", "--initial-branch=main"}})
	if err != nil {
		return err
	}
	rec.Base, err = m.emptyCommit(ctx, repo)
	if err != nil {
		return err
	}
	rec.Branch = "main"
	_, err = m.git.run(ctx, call{repo: repo, trust: true, args: []string{"update-ref", "refs/heads/main", rec.Base}})
	return err
}

// makeFound leaves a session the directory that it has.
func (m *Manager) makeFound(ctx context.Context, rec *record) error {
	rec.Kind = kindFound
	if err := errors.Join(m.save(rec), m.private("workspaces", rec.Key)); err != nil {
		return err
	}
	if rec.Session == "" {
		return errNoGit
	}
	return m.takeBase(ctx, rec)
}

func (m *Manager) emptyCommit(ctx context.Context, repo repository) (string, error) {
	out, err := m.git.run(ctx, call{repo: repo, trust: true, args: []string{"hash-object", "-t", "tree", "-w", "/dev/null"}})
	if err != nil {
		return "", err
	}
	out, err = m.git.run(ctx, call{repo: repo, trust: true, args: []string{"commit-tree", "-m", "Begin", line(out)}})
	return line(out), err
}

// makeShared gives a session its project's own directory. What is in it now is
// taken as the base of its diff, in the session's state directory.
func (m *Manager) makeShared(ctx context.Context, rec *record, p Project) error {
	rec.Kind, rec.Path = kindShared, p.Path
	if p.Clone != "" {
		if err := m.refresh(ctx, rec.Project, p); err != nil {
			return err
		}
	}
	if err := m.isDirectory(rec.Project, p.Path); err != nil {
		return err
	}
	if rec.Session == "" {
		return protocol.Errorf(protocol.CodeInvalid, "The project %s is used in place: it has one workspace, its directory", rec.Project)
	}
	if err := m.save(rec); err != nil {
		return err
	}
	return m.takeBase(ctx, rec)
}

// takeBase remembers what is in a directory that is used in place. A directory
// that is too large has no diff; the session works all the same.
func (m *Manager) takeBase(ctx context.Context, rec *record) error {
	if err := m.private("state", rec.Session); err != nil {
		return err
	}
	repo, err := m.shadow(ctx, rec)
	if err == nil {
		rec.Base, err = m.baseTree(ctx, rec, repo)
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rec.Base, rec.NoBase = "", cut(err.Error(), 300)
		m.log.Warn("what a directory held at first cannot be remembered: the session has no diff", "workspace", rec.Key, "error", err)
	}
	return nil
}

// baseDir is where a session keeps what a directory held at first.
func (m *Manager) baseDir(rec *record) string {
	return filepath.Join(m.own("state", rec.Session), ".base", shortHash(rec.Key))
}

// shadow is the repository that a directory used in place is compared in: its
// own if it has one, else one in the session's state directory. The user's
// directory gets nothing.
func (m *Manager) shadow(ctx context.Context, rec *record) (repository, error) {
	if m.git.program == "" {
		return repository{}, errNoGit
	}
	root := m.root(rec)
	if info, err := os.Lstat(filepath.Join(root, ".git")); err == nil && rec.Kind == kindShared && (info.IsDir() || info.Mode().IsRegular()) {
		out, err := m.git.run(ctx, call{dir: root, trust: true, args: []string{"rev-parse", "--absolute-git-dir"}})
		if err == nil {
			return repository{gitDir: line(out), workTree: root}, nil
		}
	}
	dir := filepath.Join(m.baseDir(rec), "git")
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		_, err := m.git.run(ctx, call{dir: m.own("state", rec.Session), trust: true, args: []string{"init", "--quiet", "--bare", "--template=", dir}})
		if err != nil {
			return repository{}, err
		}
	}
	return repository{gitDir: dir, workTree: root}, nil
}

// repository is where git keeps what it knows of a workspace; without a git
// directory it keeps nothing.
func (m *Manager) repository(ctx context.Context, rec *record) (repository, error) {
	root := m.root(rec)
	switch rec.Kind {
	case kindWorktree:
		src, err := m.sourceOf(ctx, rec)
		if err != nil {
			return repository{}, err
		}
		return repository{gitDir: filepath.Join(src.common, "worktrees", rec.Worktree), workTree: root}, nil
	case kindFound:
		return repository{}, nil
	case kindOwn:
		dir := filepath.Join(root, ".git")
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			return repository{}, &protocol.Error{
				Code: protocol.CodeConflict, Message: "The session's workspace is no git repository any more",
				Hint: "Its .git directory was removed or replaced", Err: err,
			}
		}
		return repository{gitDir: dir, workTree: root}, nil
	default:
		if _, err := os.Lstat(filepath.Join(root, ".git")); err != nil {
			return repository{}, nil //nolint:nilerr // a plain directory
		}
		return m.shadow(ctx, rec)
	}
}
