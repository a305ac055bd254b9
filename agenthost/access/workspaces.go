package access

import (
	"context"

	"bellhop/protocol"
)

// Workspaces gives sessions their directories.
type Workspaces interface {
	// Dir returns the working directory and the state directory (HOME, 0700) of
	// a session; both exist then. CodeInvalid: no usable id, unknown project.
	Dir(ctx context.Context, sessionID, project string) (dir, stateDir string, err error)
}

// NamedWorkspaces is a Workspaces that also has workspaces which were created by name. Sessions can work in
// them. An owner is the hash of a key.
type NamedWorkspaces interface {
	// Named describes the workspaces of an owner, the oldest first. There are none of owner "".
	Named(ctx context.Context, owner string) ([]protocol.Workspace, error)
	// Use has a session work in a workspace from its next Dir on, and returns the workspace's
	// project. It may be repeated. A session that does not exist any more uses no workspace.
	// CodeNoWorkspace: the owner has no such workspace; CodeConflict: another session works there,
	// or this session has a workspace already.
	Use(ctx context.Context, sessionID, name, owner string, exists func(sessionID string) bool) (project string, err error)
}

// BranchedWorkspaces is a Workspaces whose sessions can start from a branch of their project.
type BranchedWorkspaces interface {
	// DirFrom is Dir for a session that starts from a branch. CodeNoBranch: the project has no such branch.
	// CodeInvalid: sessions of this project start from none. CodeConflict: the session began from another.
	DirFrom(ctx context.Context, sessionID, project, branch string) (dir, stateDir string, err error)
}

// PathLister is a Workspaces that lists the files that messages can name.
type PathLister interface {
	// Paths searches in a session's workspace. CodeNotFound: the session has none.
	Paths(ctx context.Context, sessionID, project, query string) (*protocol.PathList, error)
	// ProjectPaths searches in a project at a branch; "" is its default. CodeInvalid: there is no such
	// project. CodeNoBranch: it has no such branch. CodeConflict: its files are not known.
	ProjectPaths(ctx context.Context, project, branch, query string) (*protocol.PathList, error)
}

// Session is a session as this package reads it.
type Session struct {
	Project string
	Dir     string                   // in which its agent was opened; "" if it was not opened yet
	Mask    func(text string) string // replaces the session's secrets

	// MaskPiece is Mask for a piece of a longer text: see masking.Masker.Piece.
	MaskPiece func(before, piece string, final bool) (clean string, used int)
}

// UserWorkspaces reads the workspaces that users' agents created, and those of a host's sessions.
type UserWorkspaces struct {
	workspaces Workspaces
	session    func(id string) (Session, error)
}

// NewUserWorkspaces reads workspaces. session returns a session of the host; CodeNotFound: there is none.
func NewUserWorkspaces(workspaces Workspaces, session func(id string) (Session, error)) UserWorkspaces {
	return UserWorkspaces{workspaces, session}
}

// NamedWorkspaces describes the workspaces that sessions of the key's owner created. CodeInvalid: there is
// no key. CodeNotFound: sessions of this host work in no such workspaces.
func (u UserWorkspaces) NamedWorkspaces(ctx context.Context, ownerKey string) (*protocol.WorkspaceList, error) {
	named, ok := u.workspaces.(NamedWorkspaces)
	if !ok {
		return nil, protocol.Errorf(protocol.CodeNotFound, "The host has no workspaces that tasks can name")
	}
	if ownerKey == "" {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The header " + protocol.HeaderOwnerKey + " is missing",
			Hint: "It has the key of the user whose workspaces are listed. A proxy may have removed it",
		}
	}
	if err := checkForm(protocol.HeaderOwnerKey, ownerKey); err != nil {
		return nil, err
	}
	found, err := named.Named(ctx, KeyHash(ownerKey))
	if err != nil {
		return nil, err
	}
	return &protocol.WorkspaceList{Workspaces: append([]protocol.Workspace{}, found...)}, nil
}

// WorkspacePath returns the directory in which a session's agent was opened. CodeNotFound: there
// is no such session, or its agent was not opened yet.
func (u UserWorkspaces) WorkspacePath(sessionID string) (string, error) {
	s, err := u.session(sessionID)
	if err == nil && s.Dir == "" {
		err = &protocol.Error{
			Code: protocol.CodeNotFound, Message: "The session has no workspace yet", Hint: "Its first turn makes one",
		}
	}
	return s.Dir, err
}

// Mask replaces the session's secrets in texts that its agent may have written.
func (u UserWorkspaces) Mask(sessionID string, texts map[string]string) (map[string]string, error) {
	s, err := u.session(sessionID)
	if err != nil {
		return nil, err
	}
	masked := make(map[string]string, len(texts))
	for key, text := range texts {
		masked[s.Mask(key)] = s.Mask(text)
	}
	return masked, nil
}

func (u UserWorkspaces) pathLister() (PathLister, error) {
	lister, ok := u.workspaces.(PathLister)
	if !ok {
		return nil, protocol.Errorf(protocol.CodeMethodNotAllowed, "The host does not list files")
	}
	return lister, nil
}

// Paths searches for files in a session's workspace, and masks the session's secrets. CodeNotFound: there
// is no such session, or it has no workspace yet.
func (u UserWorkspaces) Paths(ctx context.Context, sessionID, query string) (*protocol.PathList, error) {
	lister, err := u.pathLister()
	if err != nil {
		return nil, err
	}
	s, err := u.session(sessionID)
	if err != nil {
		return nil, err
	}
	list, err := lister.Paths(ctx, sessionID, s.Project, query)
	if err != nil {
		return nil, err
	}
	for i, path := range list.Paths {
		list.Paths[i] = s.Mask(path)
	}
	return list, nil
}

// ProjectPaths searches for files in a project, for a session that does not exist yet.
func (u UserWorkspaces) ProjectPaths(ctx context.Context, project, branch, query string) (*protocol.PathList, error) {
	lister, err := u.pathLister()
	if err != nil {
		return nil, err
	}
	return lister.ProjectPaths(ctx, project, branch, query)
}
