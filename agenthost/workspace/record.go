package workspace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bellhop/internal/replacefile"
	"bellhop/protocol"
)

// kind is the kind of a session's directory; the package comment explains each.
type kind string

const (
	kindClone  kind = "clone"
	kindOwn    kind = "own"
	kindShared kind = "shared"
	kindPlain  kind = "found"
	kindNamed  kind = "named"
	kindNone   kind = "" // it is not decided yet
)

var kinds = []kind{kindClone, kindOwn, kindShared, kindPlain, kindNamed, kindNone}

// state is the progress of a workspace.
type state string

const (
	stateReady   state = ""
	stateMaking  state = "making"  // incomplete: no agent has worked in it yet
	stateRemoved state = "removed" // deleted while its session exists: the next Dir creates it again
)

// record is the file .records/<key>.json: the owner of a workspace and the state
// it started from.
type record struct {
	Key       string    `json:"key"` // also the name of the directory, unless the workspace is shared
	Kind      kind      `json:"kind"`
	State     state     `json:"state,omitempty"`
	Session   string    `json:"session,omitempty"` // "" = created by name
	Project   string    `json:"project,omitempty"`
	Owner     string    `json:"owner,omitempty"`  // of a workspace created by name: the hash of the owner's key
	UsedBy    string    `json:"usedBy,omitempty"` // of a workspace created by name: the session that works there
	Uses      string    `json:"uses,omitempty"`   // of the kind named: the key of the workspace
	CreatedAt time.Time `json:"createdAt"`

	From string `json:"from,omitempty"` // branch of the project that a session asked to start from

	// Used when the configuration no longer names the project.
	Repository string `json:"repository,omitempty"` // git directory
	Path       string `json:"path,omitempty"`       // directory of a shared workspace

	Prefix string `json:"prefix,omitempty"` // the project's subdirectory in its repository
	Branch string `json:"branch,omitempty"`
	Format string `json:"objectFormat,omitempty"` // of git's object names; "" = sha1
	Base   string `json:"base,omitempty"`         // commit that diffs compare with; a tree if the workspace is shared
	NoBase string `json:"noBase,omitempty"`       // why Base is missing

	Pushed *pushed `json:"pushed,omitempty"` // nil = the host has not pushed yet
}

// pushed is what the host found and left at the remote when it pushed last.
type pushed struct {
	Branch   string `json:"branch"`
	Commit   string `json:"commit,omitempty"`   // "" = no push of the branch succeeded
	Diverged string `json:"diverged,omitempty"` // commit of the remote's branch that the workspace's did not contain
	Base     string `json:"base,omitempty"`     // commit of the base that the workspace's branch did not contain

	PullRequest *protocol.PullRequest `json:"pullRequest,omitempty"` // that the host opened or changed last
}

func (m *Manager) dataPath(kind, name string) string { return filepath.Join(m.data, kind, name) }

func (m *Manager) recordPath(key string) string {
	return filepath.Join(m.data, "workspaces", ".records", key+".json")
}

// rootDir returns the top directory of the work tree. It differs from workingDir
// if the project is a subdirectory of its repository.
func (m *Manager) rootDir(rec *record) string {
	if rec.Kind == kindShared {
		return cmp.Or(m.projects[rec.Project].Path, rec.Path)
	}
	return m.dataPath("workspaces", rec.Key)
}

func (m *Manager) workingDir(rec *record) string {
	return filepath.Join(m.rootDir(rec), filepath.FromSlash(rec.Prefix))
}

// readRecord returns CodeNotFound if the record does not exist.
func (m *Manager) readRecord(key string) (*record, error) {
	rec := new(record)
	content, err := os.ReadFile(m.recordPath(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoWorkspace()
	}
	if err == nil {
		err = json.Unmarshal(content, rec)
	}
	if err == nil && !slices.Contains(kinds, rec.Kind) {
		err = fmt.Errorf("the kind %q is not known", rec.Kind)
	}
	if err != nil {
		return nil, fmt.Errorf("workspace record: %w", err)
	}
	return rec, nil
}

func errNoWorkspace() error {
	return &protocol.Error{
		Code: protocol.CodeNotFound, Message: "Workspace not found", Hint: "bellhop workspaces list shows them",
	}
}

func (m *Manager) saveRecord(rec *record) error {
	content, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(m.recordPath(rec.Key), append(content, '\n'))
}

// writeFile is replacefile.Change for a file of the host, whose directory it makes.
func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return replacefile.Change(path, content, 0o600)
}

// readRecords returns all records, sorted by key. It logs and skips records that
// cannot be read.
func (m *Manager) readRecords() ([]*record, error) {
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
		rec, err := m.readRecord(key)
		if err != nil || rec.Key != key {
			m.log.Warn("a workspace record cannot be read", "record", entry.Name(), "error", err)
			continue
		}
		out = append(out, rec)
	}
	return out, nil
}

// findByPath returns the record of the workspace that contains path. For a shared
// directory it returns the record of any session that uses it.
func (m *Manager) findByPath(path string) (*record, error) {
	path = filepath.Clean(path)
	if key, ok := m.keyOf(path); ok {
		rec, err := m.readRecord(key)
		if err == nil && (rec.State == stateRemoved || rec.Kind == kindNamed) {
			err = errNoWorkspace()
		}
		return rec, err
	}
	all, err := m.readRecords()
	if err != nil {
		return nil, err
	}
	for _, rec := range all {
		if rec.Kind == kindShared && rec.State == stateReady && m.rootDir(rec) == path {
			return rec, nil
		}
	}
	return nil, errNoWorkspace()
}

// keyOf returns the first path element below the workspaces directory.
func (m *Manager) keyOf(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, m.dataPath("workspaces", "")+string(filepath.Separator))
	key, _, _ := strings.Cut(rest, string(filepath.Separator))
	return key, ok && key != "" && key[0] != '.'
}

// projectKey is the record key for a session's second and later projects. The
// record of its first project has the session id as its key.
func projectKey(sessionID, project string) string { return sessionID + "@" + shortHash(project) }

// shortHash turns any string into 12 characters that fit file and branch names.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// isSessionDeleted reports whether the owner's state directory is gone: deleting
// a session removes it.
func (m *Manager) isSessionDeleted(rec *record) bool {
	if rec.Session == "" {
		return false
	}
	_, err := os.Lstat(m.dataPath("state", rec.Session))
	return errors.Is(err, fs.ErrNotExist)
}
