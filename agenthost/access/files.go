package access

import (
	"context"

	"bellhop/protocol"
)

// FileReader is a Workspaces that shows the files of sessions. Its methods never leave the workspace and follow no
// link. CodeNotFound: the session has no workspace.
type FileReader interface {
	// Directory lists a page of a directory: what comes after an entry. CodeInvalid: a path outside of the workspace.
	// CodeGone: there is no such directory.
	Directory(ctx context.Context, sessionID, project, path, after string) (*protocol.FileList, error)
	// File reads a file from an offset on. maskPiece is Session.MaskPiece. CodeConflict: it is no regular file.
	File(
		ctx context.Context, sessionID, project, path string, offset int64,
		maskPiece func(before, piece string, final bool) (clean string, used int),
	) (*protocol.FileContent, error)
	// Search finds lines in the files that git does not ignore. It finds nothing that mask removes.
	Search(
		ctx context.Context, sessionID, project string, q protocol.FileSearch, mask func(text string) string,
	) (*protocol.FileMatches, error)
}

// Files shows the files of a host's sessions, with the sessions' secrets masked.
type Files struct {
	workspaces Workspaces
	session    func(id string) (Session, error)
}

// NewFiles shows files of workspaces. session returns a session of the host; CodeNotFound: there is none.
func NewFiles(workspaces Workspaces, session func(id string) (Session, error)) Files {
	return Files{workspaces, session}
}

func (f Files) reader(sessionID string) (FileReader, Session, error) {
	reader, ok := f.workspaces.(FileReader)
	if !ok {
		return nil, Session{}, protocol.Errorf(protocol.CodeMethodNotAllowed, "The host shows no files")
	}
	s, err := f.session(sessionID)
	return reader, s, err
}

// Directory lists a page of a directory of a session's workspace. CodeNoWorkspace: the session has none.
// CodeMethodNotAllowed: this host shows no files.
func (f Files) Directory(ctx context.Context, sessionID, path, after string) (*protocol.FileList, error) {
	reader, s, err := f.reader(sessionID)
	if err != nil {
		return nil, err
	}
	list, err := reader.Directory(ctx, sessionID, s.Project, path, after)
	if err != nil {
		return nil, noWorkspace(err)
	}
	for i := range list.Entries {
		entry := &list.Entries[i]
		entry.Name, entry.Target = s.Mask(entry.Name), s.Mask(entry.Target)
	}
	list.Path, list.Next = s.Mask(list.Path), s.Mask(list.Next)
	return list, nil
}

// File reads a file of a session's workspace. Its errors are those of Directory.
func (f Files) File(ctx context.Context, sessionID, path string, offset int64) (*protocol.FileContent, error) {
	reader, s, err := f.reader(sessionID)
	if err != nil {
		return nil, err
	}
	file, err := reader.File(ctx, sessionID, s.Project, path, offset, s.MaskPiece)
	if err != nil {
		return nil, noWorkspace(err)
	}
	file.Path = s.Mask(file.Path)
	return file, nil
}

// SearchFiles finds lines in the files of a session's workspace. Its errors are those of Directory, and CodeInvalid
// for a search that cannot be understood.
func (f Files) SearchFiles(
	ctx context.Context, sessionID string, q protocol.FileSearch,
) (*protocol.FileMatches, error) {
	reader, s, err := f.reader(sessionID)
	if err != nil {
		return nil, err
	}
	found, err := reader.Search(ctx, sessionID, s.Project, q, s.Mask)
	if err != nil {
		return nil, noWorkspace(err)
	}
	for i := range found.Matches {
		found.Matches[i].Path = s.Mask(found.Matches[i].Path)
	}
	return found, nil
}
