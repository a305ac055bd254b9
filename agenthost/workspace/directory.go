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
	if err := m.removeTree(ctx, rec.Session, path); err != nil { // remains of an interrupted attempt
		return err
	}
	if err := m.makePrivateDir("workspaces", rec.Key); err != nil {
		return err
	}
	var err error
	if err = m.beginStore(ctx, rec, nil, false); err != nil {
		return err
	}
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

// makeShared lets a session work in its project's own directory. The basis of the diff is a snapshot.
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

// recordBase takes the first snapshot of a directory used in place: the basis of the diff. If that fails, for
// example because the directory is too large, the session works without a diff.
func (m *Manager) recordBase(ctx context.Context, rec *record) error {
	if err := m.makePrivateDir("state", rec.Session); err != nil {
		return err
	}
	var err error = errNoGit
	if m.git.program != "" {
		err = m.firstSnapshot(ctx, rec)
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

func (m *Manager) firstSnapshot(ctx context.Context, rec *record) error {
	src, of, err := m.inPlaceBase(ctx, rec)
	if err != nil {
		return err
	}
	leave, err := m.acquireSlot(ctx, rec)
	if err != nil {
		return err
	}
	defer leave()
	release, err := m.lockStore(ctx, rec)
	if err != nil {
		return err
	}
	defer release()
	if err := m.beginStore(ctx, rec, src, false); err != nil {
		return err
	}
	return m.withStore(ctx, rec, of, nil, func(_ context.Context, s *snapshot) error {
		rec.Base = s.Tree
		return s.store.KeepFirst(s.ID)
	})
}

// inPlaceBase returns the repository of a directory used in place, nil for none, and what its snapshots begin with: the
// files of the commit that is checked out need not be told. It records the format of the repository's objects.
func (m *Manager) inPlaceBase(ctx context.Context, rec *record) (*source, storeOf, error) {
	rec.Format = ""
	if _, err := os.Lstat(filepath.Join(m.rootDir(rec), ".git")); err != nil || rec.Kind != kindShared {
		return nil, storeOf{}, nil //nolint:nilerr // a plain directory
	}
	src, err := m.findRepository(ctx, m.rootDir(rec))
	if src == nil || err != nil {
		return nil, storeOf{}, err
	}
	format, err := m.objectFormat(ctx, src)
	if err != nil {
		return nil, storeOf{}, err
	}
	if format != "sha1" {
		rec.Format = format
	}
	commit, err := m.firstCommit(ctx, Project{Path: m.rootDir(rec)}, []string{"HEAD"})
	if commit == "" || err != nil {
		return src, storeOf{}, err
	}
	return src, storeOf{commit, filepath.Join(src.gitDir, "objects")}, nil
}

// repository returns the mirror of a clone or of a repository of its own, and an empty one for other workspaces. For a
// clone it first fetches the session's commits into the project; a failure is logged.
func (m *Manager) repository(ctx context.Context, rec *record) (repository, error) {
	switch rec.Kind {
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
		return repository{}, nil
	}
}
