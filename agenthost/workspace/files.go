package workspace

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

// openFiles opens the workspace of a session. Nothing outside of it can be reached through the result, whatever links its
// agent makes. exclude is a list of ignored files.
func (m *Manager) openFiles(ctx context.Context, rec *record, exclude string) (*tree, error) {
	hashSize := 20
	if !isSHA1(rec.Format) {
		hashSize = 32
	}
	root := m.rootDir(rec)
	return m.openTree(ctx, m.sessionIn(rec), root, &treereader.TreeRequest{Root: root, HashSize: hashSize, Exclude: exclude})
}

// filesOf returns the record of the workspace whose files a session shows. CodeNotFound: it has none.
func (m *Manager) filesOf(sessionID, project string) (*record, error) {
	rec, err := m.existingRecord(sessionID, project)
	if err == nil && rec.State != stateReady {
		err = errNoWorkspace()
	}
	return rec, err
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

// errNotRead explains why a file or directory of a workspace was not read.
func errNotRead(rec *record, what, name string, err error) error {
	f := (*treereader.Failure)(nil)
	if !errors.As(err, &f) {
		return err
	}
	switch {
	case f.Why == treereader.IsLink:
		return errLink(strings.TrimPrefix(f.Path, rec.Prefix+"/"))
	case f.Why == treereader.IsGone && f.Path == "":
		return errGone("The session's workspace", f)
	case f.Why == treereader.IsGone && len(f.Path) <= len(rec.Prefix):
		return errGone("The session's working directory", f)
	case f.Why == treereader.IsGone:
		return errGone(fmt.Sprintf("The %s %q", what, name), f)
	}
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("The %s %q cannot be read", what, name), Err: f,
		Hint: "The agent's programs cannot read it either, or change it again and again",
	}
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
	rec, err := m.filesOf(sessionID, project)
	if err != nil {
		return nil, err
	}
	release, err := acquire(ctx, m.fileSlots)
	if err != nil {
		return nil, err
	}
	defer release()
	exclude, err := m.excludeOf(rec)
	if err != nil {
		return nil, err
	}
	var list *protocol.FileList
	err = m.settled(func() error {
		files, err := m.openFiles(ctx, rec, exclude)
		if err != nil {
			return err
		}
		defer files.close()
		if list, err = listDirectory(files, rec, dir, after); err == nil && m.git.program != "" {
			err = markIgnored(files, rec, list)
		}
		if err != nil {
			return errNotRead(rec, "directory", dir, files.explain(err))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func listDirectory(files *tree, rec *record, dir, after string) (*protocol.FileList, error) {
	at := path.Join(rec.Prefix, protocol.PathShown(dir))
	found, isCut, err := files.List(at, protocol.MaxDirectory)
	if err != nil {
		return nil, err
	}
	list := &protocol.FileList{Path: dir, Entries: []protocol.FileEntry{}, Cut: isCut}
	all := make([]entry, 0, len(found))
	for _, e := range found {
		if !strings.EqualFold(e.Name, ".git") {
			all = append(all, entry{protocol.ShownPath(e.Name), e.Kind == treereader.KindDirectory, e})
		}
	}
	slices.SortFunc(all, compareEntries)
	list.Total = len(all)
	from := 0
	if after != "" {
		var isThere bool
		if from, isThere = slices.BinarySearchFunc(all, entryOf(after), compareEntries); isThere {
			from++
		}
	}
	to := min(from+protocol.DirectoryPage, len(all))
	for _, entry := range all[from:to] {
		list.Entries = append(list.Entries, describeEntry(entry.found))
	}
	if to < len(all) {
		list.Next = all[to-1].cursor()
	}
	return list, readTargets(files, at, list)
}

// readTargets reads where the links of a list lead to.
func readTargets(files *tree, dir string, list *protocol.FileList) error {
	var links []*protocol.FileEntry
	var parts []treereader.Part
	for i := range list.Entries {
		if e := &list.Entries[i]; e.Kind == protocol.FileLink {
			links = append(links, e)
			parts = append(parts, treereader.Part{Path: path.Join(dir, protocol.PathShown(e.Name))})
		}
	}
	return files.ReadEach(parts, func(i int, e treereader.Entry, content []byte, err error) error {
		if err == nil && e.Kind == treereader.KindLink { // else it was exchanged
			links[i].Target = protocol.ShownPath(string(content))
		}
		return nil
	})
}

// entry is what sorts an entry of a directory.
type entry struct {
	name  string
	isDir bool
	found treereader.Entry
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
	return entry{name: name, isDir: isDir}
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

func describeEntry(found treereader.Entry) protocol.FileEntry {
	out := protocol.FileEntry{Name: protocol.ShownPath(found.Name), Kind: protocol.FileOther}
	switch found.Kind {
	case treereader.KindDirectory:
		out.Kind = protocol.FileDirectory
	case treereader.KindFile:
		out.Kind, out.Size = protocol.FileRegular, found.Size
	case treereader.KindLink:
		out.Kind = protocol.FileLink
	}
	return out
}

// markIgnored marks the entries that git ignores. If that cannot be known, none is marked: the marks only help to read.
func markIgnored(files *tree, rec *record, list *protocol.FileList) error {
	names := make([]string, len(list.Entries))
	for i := range list.Entries {
		names[i] = protocol.PathShown(list.Entries[i].Name)
	}
	ignored, err := files.Ignored(path.Join(rec.Prefix, protocol.PathShown(list.Path)), names)
	if f := (*treereader.Failure)(nil); errors.As(err, &f) {
		return nil
	}
	for i := range ignored {
		list.Entries[i].Ignored = ignored[i]
	}
	return err
}

// checkKind returns CodeConflict if what has the name of a file is none.
func checkKind(name string, found treereader.Entry) error {
	switch found.Kind {
	case treereader.KindFile:
		return nil
	case treereader.KindLink:
		return errLink(name)
	}
	return errNoFile(name)
}

func errNoFile(name string) error {
	return &protocol.Error{
		Code: protocol.CodeConflict, Message: fmt.Sprintf("%q is no regular file", name),
		Hint: "Directories are listed; FIFOs, sockets and devices are not opened",
	}
}
