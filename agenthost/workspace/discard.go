package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"bellhop/internal/owner"
	"bellhop/protocol"
)

// Discard gives files of a session's workspace the content that they had when the session began, and removes files
// that were not there. Commits stay: a file that was committed is changed back, uncommitted. Files are written
// and removed below the workspace only, whatever links lead out of it. Repeating a request changes nothing.
// CodeInvalid: a path that cannot be one of the workspace. CodeConflict: a directory or a submodule has taken the
// file's place.
func (m *Manager) Discard(
	ctx context.Context, sessionID, project string, req *protocol.DiscardRequest,
) (*protocol.DiscardResponse, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	err := m.step(ctx, sessionID, project, func(ctx context.Context, rec *record) error {
		if rec.Base == "" {
			return errNoBase(rec)
		}
		return m.discard(ctx, rec, req.Paths)
	})
	if err != nil {
		return nil, err
	}
	return &protocol.DiscardResponse{Success: true, SessionID: sessionID, Files: len(req.Paths)}, nil
}

// discard has git write the old files into a directory that only the host can change, and copies them from there.
func (m *Manager) discard(ctx context.Context, rec *record, paths []string) error {
	mirror, err := m.shippedRepository(ctx, rec)
	if err != nil {
		return err
	}
	scratch, remove, err := m.scratchDir()
	if err != nil {
		return err
	}
	defer remove()
	old := mirror
	old.indexFile, old.workTree = filepath.Join(scratch, "index"), filepath.Join(scratch, "files")
	if err := os.Mkdir(old.workTree, 0o700); err != nil {
		return err
	}
	if _, err := m.git.run(ctx, call{repo: old, noFiles: true, args: []string{"read-tree", rec.Base}}); err != nil {
		return err
	}
	modes, err := m.modesOf(ctx, old)
	if err != nil {
		return err
	}
	var wanted strings.Builder
	for _, name := range paths {
		switch modes[name] {
		case "": // the file did not exist: copyBack removes it
		case submoduleMode:
			return errNotAFile(name)
		default:
			wanted.WriteString(name + "\x00")
		}
	}
	if wanted.Len() > 0 {
		_, err := m.git.run(ctx, call{
			repo: old, time: shipTimeout, stdin: strings.NewReader(wanted.String()),
			args: []string{"checkout-index", "--quiet", "-z", "--stdin"},
		})
		if err != nil {
			return err
		}
	}
	return m.copyBack(rec, old.workTree, paths)
}

// errNotDirectory means that a file is where a path has a directory.
var errNotDirectory = syscall.ENOTDIR

func errNotAFile(name string) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("%q is something else now, or is no file", name),
		Hint: "Discard what has taken its place first. A directory or a repository of its own cannot be discarded",
	}
}

// submoduleMode is the mode of a submodule in an index.
const submoduleMode = "160000"

// modesOf returns the modes of all files of an index, by path.
func (m *Manager) modesOf(ctx context.Context, repo repository) (map[string]string, error) {
	out, err := m.git.run(ctx, call{
		repo: repo, noFiles: true, limit: maxListing, args: []string{"ls-files", "--stage", "-z"},
	})
	if errors.Is(err, errOutputLimit) {
		return nil, errTooManyChanges
	}
	found := map[string]string{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if facts, name, ok := strings.Cut(entry, "\t"); ok {
			found[name], _, _ = strings.Cut(facts, " ")
		}
	}
	return found, err
}

// copyBack makes paths of the workspace what they are in the directory from. It checks all of them before it
// changes the first.
func (m *Manager) copyBack(rec *record, from string, paths []string) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenRoot(m.rootDir(rec))
	if err != nil {
		return err
	}
	defer target.Close()
	for _, name := range paths {
		if info, err := target.Lstat(name); err == nil && info.IsDir() {
			return errNotAFile(name)
		}
		if parent := replacedParent(target, name); parent != "" {
			return errNotAFile(parent)
		}
	}
	for _, name := range paths {
		if err := copyOne(source, target, name); err != nil {
			return err
		}
	}
	return nil
}

// replacedParent returns the directory of a path in whose place is a link or a file now, "" if there is none.
// Through a link another file would be changed.
func replacedParent(target *os.Root, name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := target.Lstat(dir); err == nil && !info.IsDir() {
			return dir
		}
	}
	return ""
}

func copyOne(source, target *os.Root, name string) error {
	info, err := source.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDirectory):
		return removeOne(target, name)
	case err != nil:
		return err
	}
	if dir := path.Dir(name); dir != "." {
		if err := owner.MkdirAll(target, dir, 0o755); err != nil {
			return err
		}
	}
	if info.Mode().Type() == fs.ModeSymlink {
		to, err := source.Readlink(name)
		if err != nil {
			return err
		}
		next := path.Join(path.Dir(name), ".bellhop-"+protocol.NewID())
		if err := errors.Join(target.Symlink(to, next), owner.Inherit(target, next)); err != nil {
			return err
		}
		return target.Rename(next, name)
	}
	file, err := source.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return placeFile(target, name, file, info.Mode().Perm())
}

// removeOne removes a file and the directories that are empty without it.
func removeOne(target *os.Root, name string) error {
	if err := target.Remove(name); !isGone(err) {
		return err
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if target.Remove(dir) != nil {
			break
		}
	}
	return nil //nolint:nilerr // a directory with other files stays
}

// isGone reports whether a removed file does not exist afterwards.
func isGone(err error) bool {
	return err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDirectory)
}
