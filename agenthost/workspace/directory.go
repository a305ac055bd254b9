package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"bellhop/protocol"
)

// makeOwnRepository creates a repository for a session without a project, because
// agents expect one. Its empty first commit is the basis of the diff.
func (m *Manager) makeOwnRepository(ctx context.Context, rec *record) error {
	if m.git.program == "" {
		return m.makePlain(ctx, rec)
	}
	rec.Kind = kindOwn
	if err := m.saveRecord(rec); err != nil {
		return err
	}
	path := m.rootDir(rec)
	if err := removeAll(path); err != nil { // remains of an interrupted attempt
		return err
	}
	if err := m.makePrivateDir("workspaces", rec.Key); err != nil {
		return err
	}
	var err error
	rec.Branch = "main"
	rec.Base, err = writeEmptyRepository(filepath.Join(path, ".git"), m.now())
	return err
}

// makePlain gives a session a plain directory and keeps the files in it.
func (m *Manager) makePlain(ctx context.Context, rec *record) error {
	rec.Kind = kindPlain
	if err := errors.Join(m.saveRecord(rec), m.makePrivateDir("workspaces", rec.Key)); err != nil {
		return err
	}
	if rec.Session == "" {
		return errNoGit
	}
	return m.recordBase(ctx, rec)
}

// makeShared lets a session work in its project's own directory. The basis of the
// diff is a snapshot in the session's state directory.
func (m *Manager) makeShared(ctx context.Context, rec *record, p Project) error {
	rec.Kind, rec.Path = kindShared, p.Path
	if p.Clone != "" {
		if err := m.cloneOrFetch(ctx, rec.Project, p); err != nil {
			return err
		}
	}
	if err := m.checkDirectory(rec.Project, p.Path); err != nil {
		return err
	}
	if rec.Session == "" {
		return protocol.Errorf(protocol.CodeInvalid, "The project %s is used in place: it has one workspace, its directory",
			rec.Project)
	}
	if err := m.saveRecord(rec); err != nil {
		return err
	}
	return m.recordBase(ctx, rec)
}

// recordBase snapshots a directory that is used in place. If that fails, for
// example because the directory is too large, the session works without a diff.
func (m *Manager) recordBase(ctx context.Context, rec *record) error {
	if err := m.makePrivateDir("state", rec.Session); err != nil {
		return err
	}
	repo, err := m.inPlaceRepository(ctx, rec)
	if err == nil {
		rec.Base, err = m.snapshotBase(ctx, rec, repo)
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rec.Base, rec.NoBase = "", truncate(err.Error(), 300)
		m.log.Warn("cannot snapshot a directory: the session has no diff", "workspace", rec.Key, "error", err)
	}
	return nil
}

// baseDir holds the basis of the diff of a directory used in place.
func (m *Manager) baseDir(rec *record) string {
	return filepath.Join(m.dataPath("state", rec.Session), ".base", shortHash(rec.Key))
}

// inPlaceRepository returns the repository for diffs of a directory used in place:
// the directory's own if it has one, else a bare one in the session's state
// directory. It writes nothing into the user's directory.
func (m *Manager) inPlaceRepository(ctx context.Context, rec *record) (repository, error) {
	if m.git.program == "" {
		return repository{}, errNoGit
	}
	root := m.rootDir(rec)
	if info, err := os.Lstat(filepath.Join(root, ".git")); err == nil && rec.Kind == kindShared &&
		(info.IsDir() || info.Mode().IsRegular()) {
		common := filepath.Join(m.baseDir(rec), "common")
		if src := usualRepository(root); src != nil {
			return m.withHostSettings(ctx, src, src.gitDir, root, common)
		}
		out, err := m.git.run(ctx, call{dir: root, noFiles: true, args: []string{"rev-parse", "--absolute-git-dir"}})
		if err == nil {
			return m.withHostSettings(ctx, nil, trimNewline(out), root, common)
		}
	}
	dir := filepath.Join(m.baseDir(rec), "git")
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		if _, err := os.Lstat(m.dataPath("state", rec.Session)); err != nil { // making it would bring a deleted session back
			return repository{}, err
		}
		if err := m.initBare(ctx, dir, ""); err != nil {
			return repository{}, err
		}
	}
	return repository{gitDir: dir, workTree: root}, nil
}

// repository returns the repository for reads of a workspace: the mirror of a clone or of a
// repository of its own, an empty one for a plain directory. For a clone it first fetches the
// session's commits into the mirror; a failure is logged.
func (m *Manager) repository(ctx context.Context, rec *record) (repository, error) {
	root := m.rootDir(rec)
	switch rec.Kind {
	case kindPlain:
		return repository{}, nil
	case kindOwn:
		repo, _, err := m.mirror(ctx, rec)
		return repo, err
	case kindClone:
		repo, src, err := m.mirror(ctx, rec)
		if err != nil {
			return repo, err
		}
		if err := m.fetch(ctx, rec, src, repo); err != nil {
			m.log.Warn("cannot fetch the commits of a session", "workspace", rec.Key, "error", err)
		}
		return repo, nil
	default:
		if _, err := os.Lstat(filepath.Join(root, ".git")); err != nil {
			return repository{}, nil //nolint:nilerr // a plain directory
		}
		return m.inPlaceRepository(ctx, rec)
	}
}
