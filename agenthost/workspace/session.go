package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

// Dir returns the working and the state directory of a session and creates them
// if they are missing. CodeInvalid: the session id is no plain name, or the
// project is not configured. CodeUnavailable: the work takes longer than
// Options.Patience; it continues, so a later call succeeds. CodeConflict: the
// repository does not allow a clone; the hint says why.
func (m *Manager) Dir(ctx context.Context, sessionID, project string) (dir, stateDir string, err error) {
	if !plainName(sessionID) {
		return "", "", errSessionID()
	}
	if project != "" {
		if _, err := m.project(project); err != nil {
			return "", "", err
		}
	}
	dir, err = m.runOnce(ctx, sessionID+"\x00"+project, func(ctx context.Context) (string, error) {
		return m.prepareSession(ctx, sessionID, project, "")
	})
	return dir, m.dataPath("state", sessionID), err
}

func errSessionID() error {
	return protocol.Errorf(protocol.CodeInvalid,
		"sessionId must be 1 to %d of A-Z a-z 0-9 . _ -, and start with a letter or digit", protocol.MaxSessionID)
}

// prepareSession creates or repairs both directories of a session. A branch that is not "" is the
// one that the session starts from.
func (m *Manager) prepareSession(ctx context.Context, sessionID, project, branch string) (string, error) {
	release, err := m.locks.acquire(ctx, m.lockKey(sessionID, project))
	if err != nil {
		return "", err
	}
	defer release()
	rec, err := m.sessionRecord(ctx, sessionID, project)
	if err != nil {
		return "", err
	}
	if err := rec.startFrom(branch); err != nil {
		return "", err
	}
	if rec.State == stateReady {
		err = m.repair(ctx, rec)
	} else {
		err = m.makeWorkspace(ctx, rec)
	}
	if err != nil {
		return "", err
	}
	return m.workingDir(rec), m.makePrivateDir("state", sessionID)
}

// sessionRecord reads a session's record for a project, or returns a new one.
func (m *Manager) sessionRecord(ctx context.Context, sessionID, project string) (*record, error) {
	rec, err := m.readRecord(sessionID)
	switch protocol.CodeOf(err) {
	case "":
		if rec.Project == project {
			return m.resolve(rec)
		}
		other, err := m.readRecord(projectKey(sessionID, project))
		if protocol.CodeOf(err) == protocol.CodeNotFound {
			return m.firstRecord(ctx, projectKey(sessionID, project), sessionID, project)
		}
		return other, err
	case protocol.CodeNotFound:
		return m.firstRecord(ctx, sessionID, sessionID, project)
	default:
		return nil, err
	}
}

func (m *Manager) newRecord(key, sessionID, project string) *record {
	return &record{Key: key, Session: sessionID, Project: project, State: stateMaking, CreatedAt: m.now().UTC()}
}

// firstRecord is newRecord for a workspace that was never made. A record is written before its directory, so
// files without a record are not the remains of an attempt: their record was lost. They are refused
// (CodeConflict), because making a workspace would remove them.
func (m *Manager) firstRecord(ctx context.Context, key, sessionID, project string) (*record, error) {
	path := m.dataPath("workspaces", key)
	found, err := m.hasEntries(ctx, "", path)
	if err != nil {
		return nil, err
	}
	if found {
		return nil, &protocol.Error{
			Code: protocol.CodeConflict, Message: "The session's workspace has files, but the record of it is gone",
			Hint: "Look at " + path + " on the agent host, and move it away: the session gets a new workspace then",
		}
	}
	return m.newRecord(key, sessionID, project), nil
}

// hasEntries reports whether a directory in a place that the host names has anything in it. A missing one has nothing.
func (m *Manager) hasEntries(ctx context.Context, session, dir string) (bool, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	found, err := m.openTree(ctx, session, dir, &treereader.TreeRequest{Root: dir})
	if err != nil {
		return false, err
	}
	defer found.close()
	entries, isCut, err := found.List("", 1)
	return len(entries) > 0 || isCut, found.explain(err)
}

// makeWorkspace creates the workspace of a record that is not ready. Each kind
// saves the record first, so that after a crash the remains have an owner.
func (m *Manager) makeWorkspace(ctx context.Context, rec *record) error {
	rec.State = stateMaking
	if err := m.canBranch(rec); err != nil {
		return err
	}
	var err error
	if rec.Project == "" {
		err = m.makeOwnRepository(ctx, rec)
	} else {
		err = m.makeForProject(ctx, rec, m.projects[rec.Project])
	}
	if err != nil {
		return err
	}
	rec.State = stateReady
	return m.saveRecord(rec)
}

// repair fixes damage to a ready workspace, such as a deleted directory or a stale
// lock.
func (m *Manager) repair(ctx context.Context, rec *record) error {
	switch rec.Kind {
	case kindClone:
		return m.repairClone(ctx, rec)
	case kindOwn:
		if isLocked, err := m.isLocked(ctx, rec); err == nil && isLocked {
			m.removeStaleLock(ctx, rec)
		}
		fallthrough
	case kindPlain:
		return m.makePrivateDir("workspaces", rec.Key)
	default:
		return m.checkDirectory(rec.Project, m.rootDir(rec))
	}
}

// isLocked reports whether git has locked the index of a workspace.
func (m *Manager) isLocked(ctx context.Context, rec *record) (bool, error) {
	agent, err := m.openGitDir(ctx, rec)
	if err != nil {
		return false, err
	}
	defer agent.close()
	return agent.has("index.lock")
}

// staleLock is longer than git takes to write a file that it has locked.
const staleLock = 2 * time.Minute

// removeStaleLock removes a lock of the index that a killed git left behind, or the host: every git command of the agent
// would fail.
func (m *Manager) removeStaleLock(ctx context.Context, rec *record) {
	_, err := m.runWriter(ctx, rec, m.gitDir(rec), true, []treereader.Change{{
		Path: "index", Old: treereader.Old{Any: true}, Lock: true, StaleBefore: m.staleBefore(), New: treereader.New{Stays: true},
	}})
	if err != nil {
		m.log.Warn("cannot remove a stale lock of git", "workspace", rec.Key, "error", err)
	}
}

func (m *Manager) checkDirectory(project, path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", path)
	}
	if err != nil {
		return fmt.Errorf("project %s: %w", project, err)
	}
	return nil
}

// makePrivateDir creates <data>/<kind>/<name>, which only this user can read.
func (m *Manager) makePrivateDir(kind, name string) error {
	path := m.dataPath(kind, name)
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

// OnlyCopies finds what exists only in the workspaces that belong to a session: what Remove would keep.
func (m *Manager) OnlyCopies(ctx context.Context, sessionID string) (*protocol.OnlyCopies, error) {
	if !plainName(sessionID) {
		return nil, errSessionID()
	}
	release, err := m.locks.acquire(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	defer release()
	all, err := m.recordsOf(sessionID)
	if err != nil {
		return nil, err
	}
	return m.onlyCopiesOf(ctx, all), ctx.Err()
}

// recordsOf returns the records of a session.
func (m *Manager) recordsOf(sessionID string) ([]*record, error) {
	all, err := m.readRecords()
	return slices.DeleteFunc(all, func(rec *record) bool { return rec.Session != sessionID }), err
}

// onlyCopiesOf finds what exists only in several workspaces.
func (m *Manager) onlyCopiesOf(ctx context.Context, all []*record) *protocol.OnlyCopies {
	lists := make([]*protocol.OnlyCopies, len(all))
	for i, rec := range all {
		if rec.State == stateReady && rec.Kind != kindNamed {
			lists[i] = m.onlyCopiesOrUnknown(ctx, rec)
		}
	}
	return joinCopies(all, lists)
}

// joinCopies makes one list of those of several workspaces. A name in one of several begins with its project.
func joinCopies(all []*record, lists []*protocol.OnlyCopies) *protocol.OnlyCopies {
	if len(lists) == 1 && lists[0] != nil {
		return lists[0]
	}
	sum, joined := sha256.New(), &protocol.OnlyCopies{Items: []protocol.OnlyCopy{}}
	for i, list := range lists {
		if list == nil {
			continue
		}
		_, _ = fmt.Fprintln(sum, all[i].Key, list.ID)
		for _, item := range list.Items {
			item.Name = cmp.Or(all[i].Project, "-") + ": " + item.Name
			joined.Items = append(joined.Items, item)
		}
	}
	joined.ID = hex.EncodeToString(sum.Sum(nil)[:16])
	return joined
}

// Remove deletes the state and the workspaces of a deleted session. It keeps workspaces with what exists only there, and
// returns that, unless confirmed is the id of what exists only in all of them. It never touches a project's own directory.
func (m *Manager) Remove(ctx context.Context, sessionID, confirmed string) (kept *protocol.OnlyCopies, err error) {
	if !plainName(sessionID) {
		return nil, protocol.Errorf(protocol.CodeInvalid, "not a session id")
	}
	release, err := m.locks.acquire(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	defer release()
	all, err := m.recordsOf(sessionID)
	if err != nil {
		return nil, err
	}
	// Removing the state marks the session as deleted: after a crash, Prune removes
	// its workspaces.
	if err := m.removeTree(ctx, sessionID, m.dataPath("state", sessionID)); err != nil {
		return nil, fmt.Errorf("remove the session's state: %w", err)
	}
	if len(all) == 0 {
		return m.removeEmpty(sessionID)
	}
	isConfirmed := confirmed != "" && m.onlyCopiesOf(ctx, all).ID == confirmed
	lists := make([]*protocol.OnlyCopies, len(all))
	for i, rec := range all {
		var removeErr error
		lists[i], removeErr = m.removeLocked(ctx, rec, isConfirmed)
		err = errors.Join(err, removeErr)
	}
	return joinCopies(all, lists), err
}

// removeEmpty removes the working directory of a session without a record, if the
// directory is empty.
func (m *Manager) removeEmpty(sessionID string) (kept *protocol.OnlyCopies, err error) {
	err = os.Remove(m.dataPath("workspaces", sessionID))
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // nothing is kept
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.EEXIST):
		return unknownCopies(protocol.Errorf(protocol.CodeConflict, "The session's workspace has files, but the record of it is gone")), nil
	default:
		return nil, fmt.Errorf("remove the session's workspace: %w", err)
	}
}

// plainName reports whether a session id can be an element of a path: it holds
// no separator and is neither "." nor ".." nor a hidden name.
func plainName(id string) bool {
	if id == "" || len(id) > protocol.MaxSessionID || !alphanumeric(id[0]) {
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
