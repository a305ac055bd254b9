package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/internal/owner"
	"bellhop/protocol"
)

// Give gives the state directory of a session, and the workspace root in which its programs work, to
// the user id of these programs; root "" leaves it. Directories that have this owner are left as they
// are, so this costs much only once. CodeConflict: another session works in the workspace.
func (m *Manager) Give(sessionID, root string, to owner.ID) error {
	m.giving.Lock()
	defer m.giving.Unlock()
	for _, dir := range []string{m.dataPath("state", sessionID), root} {
		if dir == "" {
			continue
		}
		at, err := owner.OfPath(dir)
		if err != nil {
			return err
		}
		if at == to && belongsInside(dir, to) {
			continue
		}
		if dir == root {
			if err := m.checkUser(root, sessionID); err != nil {
				return err
			}
		}
		if err := owner.Give(dir, to); err != nil {
			return err
		}
	}
	return nil
}

// settled runs read, and once more if a name was closed to it: the files may have been given to the session's user
// meanwhile, while the process read as the host's.
func (m *Manager) settled(read func() error) error {
	err := read()
	if f := (*treereader.Failure)(nil); errors.As(err, &f) && f.Why == treereader.IsClosed {
		m.waitForGiving()
		err = read()
	}
	return err
}

// waitForGiving returns when no files are given at this moment.
func (m *Manager) waitForGiving() {
	m.giving.Lock()
	defer m.giving.Unlock()
}

// belongsInside reports whether the files of a repository that each commit writes belong to an owner. A
// person who is root may have committed in the workspace.
func belongsInside(dir string, to owner.ID) bool {
	for _, name := range []string{"index", "logs/HEAD"} {
		if at, err := owner.OfPath(filepath.Join(dir, ".git", name)); err == nil && at != to {
			return false
		}
	}
	return true
}

// checkUser returns CodeConflict if another session works in a workspace that was created by name.
func (m *Manager) checkUser(root, sessionID string) error {
	rec, err := m.findByPath(root)
	if err != nil {
		return err
	}
	if user := m.userOf(rec); user != "" && user != sessionID {
		return errTaken(filepath.Base(root)[1:], user)
	}
	return nil
}

// Owners returns the user ids to which state directories and workspaces belong.
func (m *Manager) Owners() (map[int]bool, error) {
	found := map[int]bool{}
	for _, kind := range []string{"state", "workspaces"} {
		entries, err := os.ReadDir(filepath.Join(m.data, kind))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the owners of sessions: %w", err)
		}
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil { // it may be removed meanwhile
				found[owner.Of(info).UID] = true
			}
		}
	}
	return found, nil
}

// StateOwner returns the owner of a session's state directory. CodeNotFound: there is none.
func (m *Manager) StateOwner(sessionID string) (owner.ID, error) {
	at, err := owner.OfPath(m.dataPath("state", sessionID))
	if os.IsNotExist(err) {
		return at, protocol.Errorf(protocol.CodeNotFound, "the session has no state directory")
	}
	return at, err
}

// Admit lets the group of the agents' user ids enter the directories above workspaces and states.
// Other users still cannot. Programs without a file system of their own need it.
func (m *Manager) Admit(gid int) error {
	m.giving.Lock()
	defer m.giving.Unlock()
	for _, kind := range []string{"", "state", "workspaces", "projects"} {
		dir := m.dataPath(kind, "")
		info, err := os.Lstat(dir)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		if at := owner.Of(info); at.GID != gid {
			if err := os.Lchown(dir, at.UID, gid); err != nil {
				return err
			}
		}
		if info.Mode().Perm() != admitMode {
			if err := os.Chmod(dir, admitMode); err != nil {
				return err
			}
		}
	}
	return nil
}

// admitMode lets a group enter a directory without listing it.
const admitMode = 0o710
