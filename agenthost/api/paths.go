package api

import (
	"context"

	"bellhop/protocol"
)

type sessionPathsRequest struct {
	ID string `param:"id" json:"-"`
	Q  string `query:"q" json:"-"`
}

type projectPathsRequest struct {
	Project string `param:"project" json:"-"`
	Branch  string `query:"branch" json:"-"`
	Q       string `query:"q" json:"-"`
}

// sessionPaths searches for files in the session's workspace.
func (a *API) sessionPaths(ctx context.Context, req *sessionPathsRequest) (*protocol.PathList, error) {
	return a.Host.Paths(ctx, req.ID, req.Q)
}

// projectPaths searches for files in a project at a branch.
func (a *API) projectPaths(ctx context.Context, req *projectPathsRequest) (*protocol.PathList, error) {
	return a.Host.ProjectPaths(ctx, req.Project, req.Branch, req.Q)
}
