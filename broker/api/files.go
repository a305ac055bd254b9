package api

import (
	"context"

	"bellhop/broker"
	"bellhop/protocol"
)

type taskPathsRequest struct {
	ID string `param:"id" json:"-"`
	Q  string `query:"q" json:"-"`
}

type taskCommandsRequest struct {
	ID string `param:"id" json:"-"`
}

type projectPathsRequest struct {
	HostID  string `query:"hostId" json:"-"`
	Project string `query:"project" json:"-"`
	Branch  string `query:"branch" json:"-"`
	Q       string `query:"q" json:"-"`
}

// taskPaths searches for files that a message of the task can name.
func (a *API) taskPaths(ctx context.Context, req *taskPathsRequest) (*protocol.PathList, error) {
	return a.Files.OfTask(ctx, a.Auth.Caller(ctx).UserID, req.ID, req.Q)
}

// projectPaths searches for files that the first message of a new task can name.
func (a *API) projectPaths(ctx context.Context, req *projectPathsRequest) (*protocol.PathList, error) {
	return a.Files.OfProject(ctx, a.Auth.Caller(ctx).UserID, broker.ProjectQuery{
		HostID: req.HostID, Project: req.Project, Branch: req.Branch, Query: req.Q,
	})
}

// taskCommands lists the slash commands of the task's agent.
func (a *API) taskCommands(ctx context.Context, req *taskCommandsRequest) (*protocol.CommandList, error) {
	return a.Files.Commands(ctx, a.Auth.Caller(ctx).UserID, req.ID)
}
