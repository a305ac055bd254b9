package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"bellhop/protocol"
)

// A session that works in a workspace created by name has a record of the kind named, which
// only names that workspace. The workspace's own record says which session uses it. A record of
// the kind named is written once and never changes, so it can be read without a lock.

// errTaken refuses a second session in a workspace: two agents would overwrite each other's files.
func errTaken(name, sessionID string) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("Another task works in the workspace %q", name),
		Hint:   "Only one task at a time works in a workspace: continue that one, or delete it",
		Fields: map[string]any{"usedBy": sessionID},
	}
}

func errWorkspaceMissing(name string) error {
	return &protocol.Error{
		Code: protocol.CodeNoWorkspace, Message: fmt.Sprintf("There is no workspace %q", name),
		Hint: "It was deleted, or is another user's. Begin another task, without it or in another workspace",
	}
}

// Create creates a workspace by name, without a session: a clone of the
// project, or with project "" a new repository. Only sessions of the owner can use it; without an
// owner none can. CodeInvalid: the name cannot be used, the project is unknown or used in place.
// CodeConflict: the name is taken.
func (m *Manager) Create(ctx context.Context, project, name, owner string) (Info, error) {
	if !isWorkspaceName(name) {
		return Info{}, protocol.Errorf(protocol.CodeInvalid,
			"A workspace's name must be 1 to 64 of A-Z a-z 0-9 . _ -, and start with a letter or digit")
	}
	if project != "" {
		if _, err := m.project(project); err != nil {
			return Info{}, err
		}
	}
	key := "@" + name
	_, err := m.runOnce(ctx, key, func(ctx context.Context) (string, error) {
		return "", m.createNamed(ctx, key, project, name, owner)
	})
	if err != nil {
		return Info{}, err
	}
	return m.Info(ctx, m.dataPath("workspaces", key))
}

func (m *Manager) createNamed(ctx context.Context, key, project, name, owner string) error {
	release, err := m.locks.acquire(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	rec, err := m.readRecord(key)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound:
		rec = m.newRecord(key, "", project)
	case err != nil:
		return err
	case rec.State == stateReady:
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("There is a workspace %q", name),
			Hint: "Take another name, or delete that workspace first",
		}
	default: // an interrupted attempt
		rec.Project = project
	}
	rec.Owner = owner
	return m.makeWorkspace(ctx, rec)
}

// Named describes the workspaces created by name that belong to an owner, the oldest first. One
// that cannot be inspected counts as dirty.
func (m *Manager) Named(ctx context.Context, owner string) ([]Info, error) {
	if owner == "" {
		return []Info{}, nil
	}
	return m.list(ctx, m.look, func(rec *record) bool { return rec.Session == "" && rec.Owner == owner })
}

// Use has a session work in the workspace that was created by name, from its next Dir on, and
// returns the workspace's project. It may be repeated. A session that does not exist any more uses
// no workspace. CodeNoWorkspace: the owner has no such workspace. CodeConflict: another session
// works there, or this session has a workspace already.
func (m *Manager) Use(
	ctx context.Context, sessionID, name, owner string, exists func(sessionID string) bool,
) (project string, err error) {
	if !plainName(sessionID) {
		return "", errSessionID()
	}
	key := "@" + name
	if !isWorkspaceName(name) {
		return "", errWorkspaceMissing(name)
	}
	release, err := m.locks.acquire(ctx, key)
	if err != nil {
		return "", err
	}
	defer release()
	rec, err := m.readRecord(key)
	if protocol.CodeOf(err) == protocol.CodeNotFound ||
		err == nil && (rec.State != stateReady || rec.Session != "" || owner == "" || rec.Owner != owner) {
		return "", errWorkspaceMissing(name)
	}
	if err != nil {
		return "", err
	}
	if user := m.userOf(rec); user != "" && user != sessionID && exists(user) {
		return "", errTaken(name, user)
	}
	return rec.Project, m.use(rec, sessionID)
}

// use writes both records. The caller holds the lock of the workspace. The state directory
// comes first: as long as it exists, the workspace is in use.
func (m *Manager) use(rec *record, sessionID string) error {
	own, err := m.readRecord(sessionID)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound:
	case err != nil:
		return err
	case own.Kind != kindNamed || own.Uses != rec.Key:
		return &protocol.Error{
			Code: protocol.CodeConflict, Message: "The session works in another workspace",
			Hint: "A task keeps the workspace that it began in. Begin another task",
		}
	case rec.UsedBy == sessionID:
		return nil
	}
	if err := m.makePrivateDir("state", sessionID); err != nil {
		return err
	}
	rec.UsedBy = sessionID
	return errors.Join(m.saveRecord(rec), m.saveRecord(&record{
		Key: sessionID, Kind: kindNamed, Session: sessionID, Project: rec.Project, Uses: rec.Key, CreatedAt: m.now().UTC(),
	}))
}

// userOf returns the session that works in a workspace created by name, "" for none.
func (m *Manager) userOf(rec *record) string {
	if rec.UsedBy == "" {
		return ""
	}
	if _, err := os.Lstat(m.dataPath("state", rec.UsedBy)); errors.Is(err, fs.ErrNotExist) {
		return "" // deleting the session removed it
	}
	return rec.UsedBy
}

// resolve returns the record of the workspace in which a session works: rec itself, unless
// it names another.
func (m *Manager) resolve(rec *record) (*record, error) {
	if rec.Kind != kindNamed {
		return rec, nil
	}
	name := strings.TrimPrefix(rec.Uses, "@")
	named, err := m.readRecord(rec.Uses)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound, err == nil && (named.State != stateReady || named.UsedBy == ""):
		return nil, errWorkspaceMissing(name)
	case err != nil:
		return nil, err
	case named.UsedBy != rec.Session:
		return nil, errTaken(name, named.UsedBy)
	}
	return named, nil
}

// lockKey returns the key of the lock for work on the workspace of a session.
func (m *Manager) lockKey(sessionID, project string) string {
	if rec, err := m.readRecord(sessionID); err == nil && rec.Kind == kindNamed && rec.Project == project {
		return rec.Uses
	}
	return sessionID
}

// existingRecord returns the record of the workspace in which a session works on a project.
// CodeNotFound: it has none.
func (m *Manager) existingRecord(sessionID, project string) (*record, error) {
	rec, err := m.readRecord(sessionID)
	if err == nil && rec.Project != project {
		rec, err = m.readRecord(projectKey(sessionID, project))
	}
	if err != nil {
		return nil, err
	}
	return m.resolve(rec)
}

// isWorkspaceName reports whether a workspace can be created by this name. It becomes part of
// a path and of a branch.
func isWorkspaceName(name string) bool {
	return plainName(name) && !strings.Contains(name, "..") && !strings.HasSuffix(name, ".") &&
		!strings.HasSuffix(name, ".lock") && len(name) <= protocol.MaxWorkspaceName
}
