package agenthost

import (
	"context"

	"bellhop/agenthost/stream"
	"bellhop/protocol"
)

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
