package agenthost

import (
	"cmp"
	"context"
	"errors"

	"bellhop/agenthost/stream"
	"bellhop/protocol"
)

// NamedWorkspaces is a Workspaces whose workspaces created by name sessions can work in. An owner
// is the hash of a key.
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

// Keys are the keys that a broker sends with a request; "" for none.
type Keys struct {
	Session string // of the session
	Owner   string // of the session's user: it opens the workspaces that the user's sessions create
}

func (k Keys) check() error {
	return errors.Join(checkKeyForm(protocol.HeaderSessionKey, k.Session), checkKeyForm(protocol.HeaderOwnerKey, k.Owner))
}

// UserWorkspaces is what a Host does with the workspaces that users' agents created, and with
// those of its sessions.
type UserWorkspaces struct{ h *Host }

// NamedWorkspaces describes the workspaces that sessions of the key's owner created. CodeInvalid: there is
// no key. CodeNotFound: sessions of this host work in no such workspaces.
func (u UserWorkspaces) NamedWorkspaces(ctx context.Context, ownerKey string) (*protocol.WorkspaceList, error) {
	named, ok := u.h.opts.Workspaces.(NamedWorkspaces)
	if !ok {
		return nil, protocol.Errorf(protocol.CodeNotFound, "The host has no workspaces that tasks can name")
	}
	if ownerKey == "" {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "The header " + protocol.HeaderOwnerKey + " is missing",
			Hint: "It has the key of the user whose workspaces are listed. A proxy may have removed it",
		}
	}
	if err := checkKeyForm(protocol.HeaderOwnerKey, ownerKey); err != nil {
		return nil, err
	}
	found, err := named.Named(ctx, keyHash(ownerKey))
	if err != nil {
		return nil, err
	}
	return &protocol.WorkspaceList{Workspaces: append([]protocol.Workspace{}, found...)}, nil
}

// useWorkspace has the session of a request work in the workspace that the request names, and adds
// the workspace's project to the request.
func (u UserWorkspaces) useWorkspace(ctx context.Context, req *protocol.OpenSessionRequest, ownerHash string) error {
	if req.Workspace == "" {
		return nil
	}
	named, ok := u.h.opts.Workspaces.(NamedWorkspaces)
	if !ok {
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "This host has no workspaces that sessions can name",
			Hint: "The capabilities in its answer to POST /session say what it can do",
		}
	}
	project, err := named.Use(ctx, req.SessionID, req.Workspace, ownerHash, func(id string) bool {
		_, err := u.h.session(id)
		return err == nil
	})
	if err != nil {
		return err
	}
	if req.Project != "" && req.Project != project {
		return protocol.Errorf(protocol.CodeInvalid, "The workspace %q is not of the project %q", req.Workspace, req.Project)
	}
	req.Project = project
	return nil
}

func checkBranch(req *protocol.OpenSessionRequest) error {
	switch {
	case req.Branch == "":
		return nil
	case req.Workspace != "":
		return &protocol.Error{
			Code: protocol.CodeInvalid, Message: "branch and workspace exclude each other",
			Hint: "A workspace that was created by name has a branch already",
		}
	}
	return protocol.CheckBranch(req.Branch)
}

// makeWorkspace makes the workspace of a new session, and of a session that gets another project. A request that
// names a branch is checked against the branch that the session began from. The session's lock is held.
func (u UserWorkspaces) makeWorkspace(ctx context.Context, s *session, req *protocol.OpenSessionRequest) error {
	if req.Branch != "" {
		branched, ok := u.h.opts.Workspaces.(BranchedWorkspaces)
		if !ok {
			return &protocol.Error{
				Code: protocol.CodeInvalid, Message: "Sessions of this host start from no branch",
				Hint: "The capabilities in its answer to POST /session say what it can do",
			}
		}
		_, _, err := branched.DirFrom(ctx, s.id, cmp.Or(req.Project, s.state.Record.Project), req.Branch)
		return err
	}
	if s.state.Durable && (req.Project == "" || req.Project == s.state.Record.Project) {
		return nil
	}
	_, _, err := u.h.opts.Workspaces.Dir(ctx, s.id, req.Project)
	return err
}

// WorkspacePath returns the directory in which a session's agent was opened. CodeNotFound: there
// is no such session, or its agent was not opened yet.
func (u UserWorkspaces) WorkspacePath(sessionID string) (string, error) {
	path, err := u.h.LocalPath(LocalGrant{SessionID: sessionID})
	if err == nil && path == "" {
		err = &protocol.Error{
			Code: protocol.CodeNotFound, Message: "The session has no workspace yet", Hint: "Its first turn makes one",
		}
	}
	return path, err
}

// Mask replaces the session's secrets in texts that its agent may have written.
func (u UserWorkspaces) Mask(sessionID string, texts map[string]string) (map[string]string, error) {
	s, err := u.h.session(sessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	mask := stream.NewMasker(s.secrets())
	s.mu.Unlock()
	masked := make(map[string]string, len(texts))
	for key, text := range texts {
		masked[mask.Text(key)] = mask.Text(text)
	}
	return masked, nil
}

// PathLister is a Workspaces that lists the files that messages can name.
type PathLister interface {
	// Paths searches in a session's workspace. CodeNotFound: the session has none.
	Paths(ctx context.Context, sessionID, project, query string) (*protocol.PathList, error)
	// ProjectPaths searches in a project at a branch; "" is its default. CodeInvalid: there is no such
	// project. CodeNoBranch: it has no such branch. CodeConflict: its files are not known.
	ProjectPaths(ctx context.Context, project, branch, query string) (*protocol.PathList, error)
}

func (u UserWorkspaces) pathLister() (PathLister, error) {
	lister, ok := u.h.opts.Workspaces.(PathLister)
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
	s, err := u.h.session(sessionID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	project, mask := s.state.Record.Project, stream.NewMasker(s.secrets())
	s.mu.Unlock()
	list, err := lister.Paths(ctx, sessionID, project, query)
	if err != nil {
		return nil, err
	}
	for i, path := range list.Paths {
		list.Paths[i] = mask.Text(path)
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
