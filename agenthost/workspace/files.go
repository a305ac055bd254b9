package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"bellhop/internal/openflag"
	"bellhop/protocol"
)

// readBatch is how many entries of a directory are read at once.
const readBatch = 1024

// openFiles opens the working directory of a session. Nothing outside of the workspace can be reached through the
// result, whatever links its agent makes. CodeNotFound: the session has no workspace.
func (m *Manager) openFiles(sessionID, project string) (*record, *os.Root, error) {
	rec, err := m.existingRecord(sessionID, project)
	if err == nil && rec.State != stateReady {
		err = errNoWorkspace()
	}
	if err != nil {
		return nil, nil, err
	}
	top := m.rootDir(rec)
	info, err := os.Lstat(top)
	if err != nil || !info.IsDir() {
		return nil, nil, errGone("The session's workspace", err)
	}
	root, err := os.OpenRoot(top)
	if err != nil || rec.Prefix == "" {
		return rec, root, err
	}
	defer root.Close()
	if link := linkIn(root, rec.Prefix); link != "" {
		return nil, nil, errLink(link)
	}
	inner, err := root.OpenRoot(rec.Prefix)
	if err != nil {
		return nil, nil, errGone("The session's working directory", err)
	}
	return rec, inner, nil
}

func errGone(what string, err error) error {
	return &protocol.Error{
		Code: protocol.CodeGone, Message: what + " does not exist any more", Err: err,
		Hint: "The agent has moved or removed it: read its directory again",
	}
}

func errLink(name string) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("%q is a symbolic link", name),
		Hint: "Links are shown with their targets, and are not followed",
	}
}

// linkIn returns the first part of a path that is a symbolic link, "" if none is.
func linkIn(root *os.Root, name string) string {
	for at := range len(name) + 1 {
		if at < len(name) && name[at] != '/' {
			continue
		}
		if info, err := root.Lstat(name[:at]); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return name[:at]
		}
	}
	return ""
}

// Directory lists a page of a directory of a session's workspace: what comes after an entry. Git directories are left
// out. CodeNotFound: the session has no workspace. CodeInvalid: a path outside of it. CodeGone: there is no
// such directory. CodeConflict: a link leads there.
func (m *Manager) Directory(ctx context.Context, sessionID, project, dir, after string) (*protocol.FileList, error) {
	if dir != "" {
		if err := protocol.CheckFilePath(dir); err != nil {
			return nil, err
		}
	}
	if len(after) > protocol.MaxPath {
		return nil, protocol.Errorf(protocol.CodeInvalid, "after is longer than %d bytes", protocol.MaxPath)
	}
	release, err := acquire(ctx, m.fileSlots)
	if err != nil {
		return nil, err
	}
	rec, root, err := m.openFiles(sessionID, project)
	if err != nil {
		release()
		return nil, err
	}
	defer root.Close()
	list, err := listDirectory(ctx, root, dir, after)
	release()
	if err == nil {
		m.markIgnored(ctx, rec, root, list)
	}
	return list, err
}

func listDirectory(ctx context.Context, root *os.Root, dir, after string) (*protocol.FileList, error) {
	if link := linkIn(root, dir); link != "" {
		return nil, errLink(link)
	}
	file, err := openDir(root, cmp.Or(dir, "."))
	if err != nil {
		return nil, errGone(fmt.Sprintf("The directory %q", dir), err)
	}
	defer file.Close()
	list := &protocol.FileList{Path: dir, Entries: []protocol.FileEntry{}}
	all, err := readEntries(ctx, file, list)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, compareEntries)
	list.Total = len(all)
	from := 0
	if after != "" {
		from, _ = slices.BinarySearchFunc(all, entryOf(after), compareEntries)
		if from < len(all) && all[from] == entryOf(after) {
			from++
		}
	}
	to := min(from+protocol.DirectoryPage, len(all))
	for _, entry := range all[from:to] {
		list.Entries = append(list.Entries, describeEntry(root, dir, entry))
	}
	if to < len(all) {
		list.Next = all[to-1].cursor()
	}
	return list, nil
}

// entry is what sorts an entry of a directory.
type entry struct {
	name  string
	isDir bool
}

// cursor is the name of an entry, with a "/" after that of a directory.
func (e entry) cursor() string {
	if e.isDir {
		return e.name + "/"
	}
	return e.name
}

func entryOf(cursor string) entry {
	name, isDir := strings.CutSuffix(cursor, "/")
	return entry{name, isDir}
}

// compareEntries puts directories first.
func compareEntries(a, b entry) int {
	if a.isDir != b.isDir {
		if a.isDir {
			return -1
		}
		return 1
	}
	return strings.Compare(a.name, b.name)
}

// readEntries reads a directory, and counts in list what cannot be shown.
func readEntries(ctx context.Context, dir *os.File, list *protocol.FileList) ([]entry, error) {
	var all []entry
	for {
		batch, err := dir.ReadDir(readBatch)
		for _, found := range batch {
			name := found.Name()
			switch {
			case strings.EqualFold(name, ".git"):
			case !utf8.ValidString(name):
				list.Unnamed++
			case len(all) == protocol.MaxDirectory:
				list.Cut = true
				return all, nil
			default:
				all = append(all, entry{name, found.IsDir()})
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
}

// describeEntry looks at an entry without following it.
func describeEntry(root *os.Root, dir string, e entry) protocol.FileEntry {
	out := protocol.FileEntry{Name: e.name, Kind: protocol.FileOther}
	name := path.Join(dir, e.name)
	info, err := root.Lstat(name)
	switch {
	case e.isDir:
		out.Kind = protocol.FileDirectory
	case err != nil: // it was removed
	case info.Mode().IsRegular():
		out.Kind, out.Size = protocol.FileRegular, info.Size()
	case info.Mode()&fs.ModeSymlink != 0:
		out.Kind = protocol.FileLink
		out.Target, _ = root.Readlink(name)
	}
	return out
}

// markIgnored marks the entries that git ignores. If the workspace cannot be read, none is marked: the marks only help
// to read.
func (m *Manager) markIgnored(ctx context.Context, rec *record, root *os.Root, list *protocol.FileList) {
	if len(list.Entries) == 0 || m.git.program == "" {
		return
	}
	release, err := m.acquireSlot(ctx, rec)
	if err != nil {
		return
	}
	defer release()
	exclude, err := m.excludeOf(rec)
	var known *names
	if err == nil {
		known, err = m.names(ctx, rec, exclude)
	}
	if err != nil {
		m.log.Debug("cannot mark ignored files", "workspace", rec.Key, "error", err)
		return
	}
	for i := range list.Entries {
		e := &list.Entries[i]
		if known.has(path.Join(rec.Prefix, list.Path, e.Name)) {
			continue
		}
		switch e.Kind {
		case protocol.FileDirectory:
			e.Ignored = hasFiles(root, path.Join(list.Path, e.Name))
		case protocol.FileRegular, protocol.FileLink:
			e.Ignored = true
		}
	}
}

// hasFiles reports whether a directory of the agent has entries.
func hasFiles(root *os.Root, name string) bool {
	dir, err := openDir(root, name)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(1)
	return len(names) > 0
}

// openFile opens a regular file of a workspace. It follows no link, and never waits for the writer of a FIFO.
// CodeInvalid: a path outside of the workspace. CodeGone: there is no such file. CodeConflict: it is no regular file.
func openFile(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	if err := protocol.CheckFilePath(name); err != nil {
		return nil, nil, err
	}
	if link := linkIn(root, name); link != "" {
		return nil, nil, errLink(link)
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, nil, errGone(fmt.Sprintf("The file %q", name), err)
	}
	if !info.Mode().IsRegular() { // opening a device could have an effect
		return nil, nil, errNoFile(name)
	}
	file, err := root.OpenFile(name, os.O_RDONLY|openflag.NoWait|openflag.NoFollow, 0)
	if err != nil {
		return nil, nil, errGone(fmt.Sprintf("The file %q", name), err)
	}
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errNoFile(name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func errNoFile(name string) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("%q is no regular file", name),
		Hint: "Directories are listed; FIFOs, sockets and devices are not opened",
	}
}
