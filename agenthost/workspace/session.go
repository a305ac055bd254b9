package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"bellhop/protocol"
)

// maxSessionID is below the 255 bytes that file systems allow for a name.
const maxSessionID = 128

// Dir returns the working and the state directory of a session, made when they
// are missing. CodeInvalid: a session id that is no plain name, a project nobody
// configured. CodeUnavailable: it takes longer than a caller should wait; it
// goes on, and a later call finds it done. CodeConflict: the repository is in
// the way, the hint says how.
func (m *Manager) Dir(ctx context.Context, sessionID, project string) (dir, stateDir string, err error) {
	if !plainName(sessionID) {
		return "", "", protocol.Errorf(protocol.CodeInvalid, "sessionId must be 1 to %d of A-Z a-z 0-9 . _ -, and start with a letter or digit", maxSessionID)
	}
	if project != "" {
		if _, err := m.project(project); err != nil {
			return "", "", err
		}
	}
	dir, err = m.once(ctx, sessionID+"\x00"+project, func(ctx context.Context) (string, error) {
		return m.prepare(ctx, sessionID, project)
	})
	return dir, m.own("state", sessionID), err
}

// prepare makes what is missing of a session's directories.
func (m *Manager) prepare(ctx context.Context, sessionID, project string) (string, error) {
	release, err := m.locks.hold(ctx, sessionID)
	if err != nil {
		return "", err
	}
	defer release()
	rec, err := m.sessionRecord(sessionID, project)
	if err != nil {
		return "", err
	}
	if rec.State == stateReady {
		err = m.ensure(ctx, rec)
	} else {
		err = m.make(ctx, rec)
	}
	if err != nil {
		return "", err
	}
	return m.dir(rec), m.private("state", sessionID)
}

// sessionRecord is the session's record for a project, a new one if need be.
func (m *Manager) sessionRecord(sessionID, project string) (*record, error) {
	rec, err := m.record(sessionID)
	switch protocol.CodeOf(err) {
	case "":
		if rec.Project == project {
			return rec, nil
		}
		other, err := m.record(otherKey(sessionID, project))
		if protocol.CodeOf(err) == protocol.CodeNotFound {
			return m.newRecord(otherKey(sessionID, project), sessionID, project), nil
		}
		return other, err
	case protocol.CodeNotFound:
		rec = m.newRecord(sessionID, sessionID, project)
		if m.usedBefore(sessionID, project) {
			rec.Kind = kindShared
			if project == "" {
				rec.Kind = kindFound
			}
		}
		return rec, nil
	default:
		return nil, err
	}
}

func (m *Manager) newRecord(key, sessionID, project string) *record {
	return &record{Key: key, Session: sessionID, Project: project, State: stateMaking, CreatedAt: m.now().UTC()}
}

// usedBefore reports a session that worked before there were records: it keeps
// the directory it knows. Records are written before the state directory.
func (m *Manager) usedBefore(sessionID, project string) bool {
	if _, err := os.Lstat(m.own("state", sessionID)); err == nil {
		return true
	}
	entries, err := os.ReadDir(m.own("workspaces", sessionID))
	return project == "" && err == nil && len(entries) > 0
}

// make makes a workspace of a record that is not ready. The record is written
// first, so that after a crash it is known whose the remains are.
func (m *Manager) make(ctx context.Context, rec *record) error {
	rec.State = stateMaking
	var err error
	switch {
	case rec.Kind == kindShared:
		err = m.makeShared(ctx, rec, m.projects[rec.Project])
	case rec.Kind == kindFound:
		err = m.makeFound(ctx, rec)
	case rec.Project == "":
		err = m.makeOwn(ctx, rec)
	default:
		err = m.makeOfProject(ctx, rec, m.projects[rec.Project])
	}
	if err != nil {
		return err
	}
	rec.State = stateReady
	return m.save(rec)
}

// ensure repairs what time or people did to a workspace.
func (m *Manager) ensure(ctx context.Context, rec *record) error {
	switch rec.Kind {
	case kindWorktree:
		return m.ensureWorktree(ctx, rec)
	case kindOwn, kindFound:
		if rec.Kind == kindOwn {
			m.unlock(filepath.Join(m.root(rec), ".git", "index.lock"))
		}
		return m.private("workspaces", rec.Key)
	default:
		return m.isDirectory(rec.Project, m.root(rec))
	}
}

func (m *Manager) isDirectory(project, path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", path)
	}
	if err != nil {
		return fmt.Errorf("project %s: %w", project, err)
	}
	return nil
}

// private makes <data>/<kind>/<name>, readable by this user alone.
func (m *Manager) private(kind, name string) error {
	path := m.own(kind, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make the session's %s directory: %w", kind, err)
	}
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", path)
	}
	if err != nil {
		return fmt.Errorf("the session's %s directory: %w", kind, err)
	}
	return nil
}

// Remove clears up after a deleted session: its state goes, and so do
// workspaces without unfinished work. Kept means that one with work stays; a
// project's own directory is never touched.
func (m *Manager) Remove(ctx context.Context, sessionID, _ string) (kept bool, err error) {
	if !plainName(sessionID) {
		return false, protocol.Errorf(protocol.CodeInvalid, "not a session id")
	}
	release, err := m.locks.hold(ctx, sessionID)
	if err != nil {
		return false, err
	}
	defer release()
	all, err := m.records()
	if err != nil {
		return false, err
	}
	// Whose state is gone is gone: from here on a crash leaves something to prune.
	if err := removeAll(m.own("state", sessionID)); err != nil {
		return false, fmt.Errorf("remove the session's state: %w", err)
	}
	known := false
	for _, rec := range all {
		if rec.Session != sessionID {
			continue
		}
		known = true
		stays, failure := m.drop(ctx, rec, false)
		kept, err = kept || stays, errors.Join(err, failure)
	}
	if err == nil && !known {
		kept, err = m.removeEmpty(sessionID)
	}
	return kept, err
}

// removeEmpty removes the working directory of a session without a record.
func (m *Manager) removeEmpty(sessionID string) (kept bool, err error) {
	err = os.Remove(m.own("workspaces", sessionID))
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.EEXIST):
		return true, nil
	default:
		return false, fmt.Errorf("remove the session's workspace: %w", err)
	}
}

// removeAll also removes directories that nobody may write to, as agents'
// package caches are.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory needs x
		}
		return nil
	})
	return os.RemoveAll(path)
}

// plainName reports whether a session id can be an element of a path: it holds
// no separator and is neither "." nor ".." nor a hidden name.
func plainName(id string) bool {
	if id == "" || len(id) > maxSessionID || !alphanumeric(id[0]) {
		return false
	}
	for i := range len(id) {
		if c := id[i]; !alphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
