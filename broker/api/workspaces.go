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
	userID := a.Auth.Caller(ctx).UserID
	found, err := a.Sessions.Workspace(ctx, userID, req.ID)
	if err != nil || found.Workspace == nil || found.Workspace.Remote == nil {
		return found, err
	}
	return found, a.ForgeTokens.AddForge(ctx, userID, found.Workspace.Remote)
}
