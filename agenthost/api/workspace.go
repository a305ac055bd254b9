package api

import (
	"context"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// listWorkspaces returns the workspaces of the user whose key the request has.
func (a *API) listWorkspaces(ctx context.Context, _ *struct{}) (*protocol.WorkspaceList, error) {
	keys, _ := ctx.Value(byKeys{}).(agenthost.Keys)
	return a.Host.NamedWorkspaces(ctx, keys.Owner)
}

// sessionWorkspace returns what the session's workspace holds.
func (a *API) sessionWorkspace(ctx context.Context, req *sessionRequest) (*protocol.SessionWorkspace, error) {
	path, err := a.Host.WorkspacePath(req.ID)
	if err != nil {
		return nil, err
	}
	if a.Describe == nil {
		return nil, protocol.Errorf(protocol.CodeNotFound, "The host does not describe workspaces")
	}
	found, err := a.Describe(ctx, path)
	if protocol.CodeOf(err) == protocol.CodeNotFound { // the session is there, its workspace is not
		return nil, &protocol.Error{
			Code: protocol.CodeNoWorkspace, Message: "The session's workspace is gone", Err: err,
			Hint: "The session's next turn makes it again, unless it was created by name",
		}
	}
	if err != nil {
		return nil, err
	}
	metadata, err := a.Host.Mask(req.ID, found.Metadata)
	if err != nil {
		return nil, err
	}
	return &protocol.SessionWorkspace{
		Workspace: &protocol.WorkspaceState{
			Branch: found.Branch, Dirty: found.Dirty, Metadata: metadata, Ships: a.Host.Ships(req.ID),
			Remote: a.Host.Remote(ctx, req.ID), Terminal: a.Host.HasShells(), Dir: path,
		},
	}, nil
}
