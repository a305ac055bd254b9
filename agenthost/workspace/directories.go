package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bellhop/protocol"
)

// maxSessionID is below the 255 bytes that file systems allow for a name.
const maxSessionID = 128

// Directories are plain directories under one data directory.
type Directories struct {
	data     string
	projects map[string]string
}

// New uses data for sessions without a project; projects maps the names that
// sessions may ask for to existing directories. Nothing is created before the
// first Dir.
func New(data string, projects map[string]string) (*Directories, error) {
	root, err := filepath.Abs(data)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	absolute := make(map[string]string, len(projects))
	for name, path := range projects {
		if absolute[name], err = filepath.Abs(path); err != nil {
			return nil, fmt.Errorf("project %s: %w", name, err)
		}
	}
	return &Directories{data: root, projects: absolute}, nil
}

// Dir returns the working and the state directory of a session, made when they
// are missing. It answers CodeInvalid for a session id that is no plain name
// and for a project nobody configured.
func (d *Directories) Dir(_ context.Context, sessionID, project string) (dir, stateDir string, err error) {
	if !plainName(sessionID) {
		return "", "", protocol.Errorf(protocol.CodeInvalid, "sessionId must be 1 to %d of A-Z a-z 0-9 . _ -, and start with a letter or digit", maxSessionID)
	}
	if dir, err = d.workingDir(sessionID, project); err != nil {
		return "", "", err
	}
	if stateDir, err = d.own("state", sessionID); err != nil {
		return "", "", err
	}
	return dir, stateDir, nil
}

// Remove clears up after a deleted session: its state goes, and so does a
// working directory nobody has put anything into. Kept means that one with files
// stays. A project is never touched.
func (d *Directories) Remove(_ context.Context, sessionID, project string) (kept bool, err error) {
	if !plainName(sessionID) {
		return false, protocol.Errorf(protocol.CodeInvalid, "not a session id")
	}
	if err := os.RemoveAll(filepath.Join(d.data, "state", sessionID)); err != nil {
		return false, fmt.Errorf("remove the session's state: %w", err)
	}
	if project != "" {
		return false, nil
	}
	err = os.Remove(filepath.Join(d.data, "workspaces", sessionID))
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.EEXIST):
		return true, nil
	default:
		return false, fmt.Errorf("remove the session's workspace: %w", err)
	}
}

func (d *Directories) workingDir(sessionID, project string) (string, error) {
	if project == "" {
		return d.own("workspaces", sessionID)
	}
	path, ok := d.projects[project]
	if !ok {
		return "", d.unknown(project)
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", path)
	}
	if err != nil {
		return "", fmt.Errorf("project %s: %w", project, err)
	}
	return path, nil
}

// own makes <data>/<kind>/<sessionID>, readable by this user alone.
func (d *Directories) own(kind, sessionID string) (string, error) {
	path := filepath.Join(d.data, kind, sessionID)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("make the session's %s directory: %w", kind, err)
	}
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", path)
	}
	if err != nil {
		return "", fmt.Errorf("the session's %s directory: %w", kind, err)
	}
	return path, nil
}

func (d *Directories) unknown(project string) error {
	hint := "This host has no projects; leave the project out."
	if len(d.projects) > 0 {
		names := make([]string, 0, len(d.projects))
		for name := range d.projects {
			names = append(names, name)
		}
		slices.Sort(names)
		hint = "This host knows: " + strings.Join(names, ", ") + "."
	}
	return &protocol.Error{
		Code:    protocol.CodeInvalid,
		Message: fmt.Sprintf("Unknown project %q", project),
		Hint:    hint,
	}
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
