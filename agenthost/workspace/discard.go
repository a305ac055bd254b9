package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

// Discard gives files of a session's workspace the content that they had when the session began, and removes files
// that were not there. Commits stay: a file that was committed is changed back, uncommitted. Each file must be as in the
// snapshot of the diff that was shown, or as the session began: repeating a request changes nothing. Other files may
// have changed. A file in whose place is a directory, or the reverse, needs all files that are in the way in the same
// request. CodeInvalid: a path that cannot be one of the workspace, or no snapshot. CodeConflict: a file has
// changed since, the snapshot is no longer known, or something that the request does not name has taken the file's
// place; then nothing is changed.
func (m *Manager) Discard(
	ctx context.Context, sessionID, project string, req *protocol.DiscardRequest,
) (*protocol.DiscardResponse, error) {
	var names []string
	for _, shown := range req.Paths {
		if name := protocol.PathShown(shown); !slices.Contains(names, name) { // at most protocol.MaxDiscardPaths
			names = append(names, name)
		}
	}
	err := m.discardIn(ctx, sessionID, project, req, func(ctx context.Context, d *discarding) error {
		return d.files(ctx, names)
	})
	if err != nil {
		return nil, err
	}
	return &protocol.DiscardResponse{Success: true, SessionID: sessionID, Files: len(names)}, nil
}

// discarding changes files of a workspace back.
type discarding struct {
	*Manager
	rec     *record
	now     *snapshot
	named   map[string]bool       // the paths of the request
	since   map[string]fileChange // what has changed since the diff that was shown
	changes map[string]fileChange // what has changed since the session began
}

// discardIn calls do with the present state of a workspace.
func (m *Manager) discardIn(
	ctx context.Context, sessionID, project string, req *protocol.DiscardRequest,
	do func(ctx context.Context, d *discarding) error,
) error {
	if err := req.Check(); err != nil {
		return err
	}
	if req.Snapshot == "" {
		return errNoSnapshot("snapshot")
	}
	return m.step(ctx, sessionID, project, func(ctx context.Context, rec *record) error {
		if rec.Base == "" {
			return errNoBase(rec)
		}
		return m.withSnapshot(ctx, rec, askForIndex, func(ctx context.Context, s *snapshot) (err error) {
			d := &discarding{Manager: m, rec: rec, now: s}
			if !s.store.Has(req.Snapshot) {
				return errForgotten()
			}
			if d.since, err = m.compare(ctx, s.repo, req.Snapshot, s.Tree); err != nil {
				return err
			}
			if d.changes, err = m.compare(ctx, s.repo, basisOf(rec), s.Tree); err != nil {
				return err
			}
			return do(ctx, d)
		})
	})
}

func errNoSnapshot(field string) error {
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: field + " is missing", Hint: "Send that of the diff that was shown",
	}
}

func errForgotten() error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: "The host no longer knows the state of the files that was shown",
		Hint: "Look at the changes again",
	}
}

func errChangedSince(name string) *protocol.Error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("%q changed since the diff that was shown", name),
		Hint: "Look at the changes again",
	}
}

func errNotAFile(name string) *protocol.Error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("%q is something else now, or is no file", name),
		Hint: "Discard what has taken its place in the same request. A directory with other files, or a submodule, cannot be discarded",
	}
}

// submoduleMode is the mode of a submodule in an index.
const submoduleMode = "160000"

// compare returns the differences between two trees, by path. A renamed file is a deleted and an added one.
func (m *Manager) compare(ctx context.Context, repo repository, from, to string) (map[string]fileChange, error) {
	out, err := m.git.run(ctx, call{
		repo: repo, noFiles: true, limit: maxListing, time: diffTimeout,
		args: []string{"diff-tree", "-r", "--raw", "-z", "--no-renames", "--no-abbrev", from, to, "--"},
	})
	if errors.Is(err, errOutputLimit) {
		return nil, errTooManyChanges
	}
	if err != nil {
		return nil, err
	}
	found := map[string]fileChange{}
	for fields := strings.Split(string(out), "\x00"); len(fields) > 2; fields = fields[2:] {
		facts := strings.Fields(strings.TrimPrefix(fields[0], ":")) // modes, hashes, status
		if len(facts) != 5 {
			return nil, errListing
		}
		found[fields[1]] = fileChange{oldMode: facts[0], newMode: facts[1], oldPath: fields[1]}
	}
	return found, nil
}

// files changes files back: those that differ from the session's first state.
func (d *discarding) files(ctx context.Context, paths []string) error {
	var changed []string
	d.named = map[string]bool{}
	for _, name := range paths {
		d.named[name] = true
	}
	for _, name := range paths {
		isDone, err := d.check(name)
		if err != nil {
			return err
		}
		if !isDone {
			changed = append(changed, name)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	old, err := d.checkOut(ctx, changed)
	if err != nil {
		return err
	}
	changes := make([]treereader.Change, len(changed))
	for i, name := range changed {
		change, file, err := d.change(old, name)
		if err != nil {
			return err
		}
		if file != nil {
			defer file.Close() // at most protocol.MaxDiscardPaths
		}
		changes[i] = change
	}
	return d.write(ctx, d.rec, d.rootDir(d.rec), changes)
}

// check reports whether a file is as the session began. CodeConflict: it cannot be discarded, or differs from what was
// shown.
func (d *discarding) check(name string) (isDone bool, err error) {
	change, isChanged := d.changes[name]
	file, isFile := d.now.File(name)
	_, wasChanged := d.since[name]
	if !isChanged && !isFile && wasChanged { // a repeat: the file was removed, and something else can have its place again
		return true, nil
	}
	for i := range name {
		if name[i] != '/' {
			continue
		}
		above, ok := d.now.File(name[:i])
		isRemoved := d.named[name[:i]] && d.changes[name[:i]].oldMode == noMode && above.Mode != treereader.ModeCommit
		if ok && !d.now.Skipped[name[:i]] && !isRemoved {
			return false, errNotAFile(name[:i])
		}
	}
	switch {
	case !isFile && d.now.Has(name) && !d.removesBelow(name), isFile && file.Mode == treereader.ModeCommit,
		change.oldMode == submoduleMode, change.newMode == submoduleMode:
		return false, errNotAFile(name)
	}
	for _, left := range d.now.LeftOut {
		if left.Path == name || strings.HasPrefix(name, left.Path+"/") || strings.HasPrefix(left.Path, name+"/") {
			return false, errUnread(left)
		}
	}
	if !isChanged {
		return true, nil
	}
	if wasChanged {
		return false, errChangedSince(name)
	}
	return false, nil
}

// removesBelow reports whether the request names all files below a path, and the session began with a file there.
func (d *discarding) removesBelow(name string) bool {
	if old := d.changes[name].oldMode; old == "" || old == noMode {
		return false
	}
	for _, file := range d.now.Below(name) {
		if !d.named[file.Path] || file.Mode == treereader.ModeCommit {
			return false
		}
	}
	return true
}

func errUnread(left treereader.LeftOut) error {
	return &protocol.Error{
		Code: protocol.CodeConflict,
		Message: fmt.Sprintf("%q %s, so the host does not know its changes",
			protocol.CutText(left.Path, protocol.MaxLeftOutPath), left.Reason),
		Hint: "Ask the agent to remove it",
	}
}

// checkOut has git write the files with which the session began into a directory that only the host can change.
func (d *discarding) checkOut(ctx context.Context, paths []string) (dir string, err error) {
	old := d.now.repo
	old.indexFile, old.workTree = filepath.Join(d.now.scratch, "index.old"), filepath.Join(d.now.scratch, "old")
	if err := os.Mkdir(old.workTree, 0o700); err != nil {
		return "", err
	}
	var wanted strings.Builder
	for _, name := range paths {
		if d.changes[name].oldMode != noMode {
			wanted.WriteString(name + "\x00")
		}
	}
	if wanted.Len() == 0 {
		return old.workTree, nil
	}
	if _, err := d.git.run(ctx, call{repo: old, noFiles: true, args: []string{"read-tree", basisOf(d.rec)}}); err != nil {
		return "", err
	}
	_, err = d.git.run(ctx, call{
		repo: old, time: shipTimeout, stdin: strings.NewReader(wanted.String()),
		args: []string{"checkout-index", "--quiet", "-z", "--stdin"},
	})
	return old.workTree, err
}

// change returns what changes a file back to that of a directory of the host, and the file that the caller closes.
func (d *discarding) change(dir, name string) (change treereader.Change, open io.Closer, err error) {
	change = treereader.Change{Path: name, Old: d.expected(name)}
	from := filepath.Join(dir, filepath.FromSlash(name))
	switch d.changes[name].oldMode {
	case noMode:
		return change, nil, nil
	case linkMode:
		target, err := os.Readlink(from)
		change.New = treereader.New{Mode: treereader.ModeLink, Size: int64(len(target)), Content: strings.NewReader(target)}
		return change, nil, err
	}
	file, err := os.Open(from)
	if err != nil {
		return change, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return change, nil, errors.Join(err, file.Close())
	}
	change.New = treereader.New{Mode: treereader.ModeFile, Size: info.Size(), Content: file}
	if d.changes[name].oldMode == programMode {
		change.New.Mode = treereader.ModeProgram
	}
	return change, file, nil
}

// programMode is the mode of a file that can be executed.
const programMode = "100755"

// expected returns what a file is now.
func (d *discarding) expected(name string) treereader.Old {
	file, ok := d.now.File(name)
	if !ok || d.now.Skipped[name] {
		return treereader.Old{}
	}
	return treereader.Old{Mode: file.Mode, Size: file.Signature.Size, Sum: file.Sum, ID: file.ID}
}
