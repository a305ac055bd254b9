package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/protocol"
)

// kind is what a session's directory is.
type kind string

const (
	kindWorktree kind = "worktree"
	kindOwn      kind = "own"
	kindShared   kind = "shared"
	kindFound    kind = "found" // without a project, and no repository of ours: there is no git, or it is older
)

// state is how far a workspace is.
type state string

const (
	stateReady   state = ""
	stateMaking  state = "making"  // begun; nobody has worked in it
	stateRemoved state = "removed" // its session goes on: the next Dir makes it anew
)

// record is who owns a workspace, and what it began with. It is the file
// .records/<key>.json.
type record struct {
	Key       string    `json:"key"` // its directory's name, unless it is shared
	Kind      kind      `json:"kind"`
	State     state     `json:"state,omitempty"`
	Session   string    `json:"session,omitempty"` // "" = made by name
	Project   string    `json:"project,omitempty"`
	CreatedAt time.Time `json:"createdAt"`

	// Where it was made: for a project that the configuration no longer names.
	Repository string `json:"repository,omitempty"` // git directory
	Path       string `json:"path,omitempty"`       // of a shared one

	Prefix   string `json:"prefix,omitempty"`   // of a project that is a part of its repository
	Worktree string `json:"worktree,omitempty"` // its name in the repository
	Branch   string `json:"branch,omitempty"`
	Base     string `json:"base,omitempty"` // commit, or tree of a shared one
	NoBase   string `json:"noBase,omitempty"`
}

func (m *Manager) own(kind, name string) string { return filepath.Join(m.data, kind, name) }

func (m *Manager) recordPath(key string) string {
	return filepath.Join(m.data, "workspaces", ".records", key+".json")
}

// root is the whole work tree; dir is where the session works in it.
func (m *Manager) root(rec *record) string {
	if rec.Kind == kindShared {
		return orElse(m.projects[rec.Project].Path, rec.Path)
	}
	return m.own("workspaces", rec.Key)
}

func (m *Manager) dir(rec *record) string {
	return filepath.Join(m.root(rec), filepath.FromSlash(rec.Prefix))
}

// record is CodeNotFound when there is none.
func (m *Manager) record(key string) (*record, error) {
	rec := new(record)
	content, err := os.ReadFile(m.recordPath(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoWorkspace()
	}
	if err == nil {
		err = json.Unmarshal(content, rec)
	}
	if err != nil {
		return nil, fmt.Errorf("workspace record: %w", err)
	}
	return rec, nil
}

func errNoWorkspace() error {
	return &protocol.Error{Code: protocol.CodeNotFound, Message: "Workspace not found", Hint: "bellhop workspaces list shows them"}
}

func (m *Manager) save(rec *record) error {
	content, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(m.recordPath(rec.Key), append(content, '\n'))
}

// writeFile replaces a file in one step: a reader sees the old or the new.
func writeFile(path string, content []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	next, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = next.Write(content)
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		_ = os.Remove(next.Name())
	}
	return err
}

// records are all of them, by key. One that cannot be read is left out, and
// said.
func (m *Manager) records() ([]*record, error) {
	entries, err := os.ReadDir(filepath.Join(m.data, "workspaces", ".records"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []*record
	for _, entry := range entries {
		key, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok {
			continue
		}
		rec, err := m.record(key)
		if err != nil || rec.Key != key {
			m.log.Warn("a workspace record cannot be read", "record", entry.Name(), "error", err)
			continue
		}
		out = append(out, rec)
	}
	return out, nil
}

// find is the workspace of a path: its own record, or that of a session that
// shares it.
func (m *Manager) find(path string) (*record, error) {
	path = filepath.Clean(path)
	if key, ok := m.keyOf(path); ok {
		rec, err := m.record(key)
		if err == nil && rec.State == stateRemoved {
			err = errNoWorkspace()
		}
		return rec, err
	}
	all, err := m.records()
	if err != nil {
		return nil, err
	}
	for _, rec := range all {
		if rec.Kind == kindShared && rec.State == stateReady && m.root(rec) == path {
			return rec, nil
		}
	}
	return nil, errNoWorkspace()
}

// keyOf is the first name below the directory of workspaces.
func (m *Manager) keyOf(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, m.own("workspaces", "")+string(filepath.Separator))
	key, _, _ := strings.Cut(rest, string(filepath.Separator))
	return key, ok && key != "" && key[0] != '.'
}

// keys are a session's: the first project has the plain one.
func otherKey(sessionID, project string) string { return sessionID + "@" + shortHash(project) }

// shortHash makes a name for files and branches out of anything.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// gone reports a workspace whose session was deleted: with it goes its state.
func (m *Manager) gone(rec *record) bool {
	if rec.Session == "" {
		return false
	}
	_, err := os.Lstat(m.own("state", rec.Session))
	return errors.Is(err, fs.ErrNotExist)
}
