package api

import (
	"context"

	"bellhop/protocol"
)

// listWorkspaces returns the caller's own workspaces on all hosts.
func (a *API) listWorkspaces(ctx context.Context, _ *struct{}) (*protocol.HostWorkspaceList, error) {
	return a.Workspaces.List(ctx, a.Auth.Caller(ctx).UserID)
}

// taskWorkspace returns what the workspace of the task's session holds.
func (a *API) taskWorkspace(ctx context.Context, req *taskRequest) (*protocol.SessionWorkspace, error) {
	caller := a.Auth.Caller(ctx)
	found, err := a.Sessions.Workspace(ctx, caller.UserID, req.ID)
	if err != nil || found.Workspace == nil {
		return found, err
	}
	found.Workspace.Terminal = found.Workspace.Terminal && a.Shells.May(caller)
	if found.Workspace.Remote == nil {
		return found, nil
	}
	return found, a.ForgeTokens.AddForge(ctx, caller.UserID, found.Workspace.Remote)
}
