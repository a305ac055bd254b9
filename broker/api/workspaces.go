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
	return a.Sessions.Workspace(ctx, a.Auth.Caller(ctx).UserID, req.ID)
}
