package api

import (
	"context"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// withActKey passes the Idempotency-Key of a request on: the act happens once for all requests that have it.
func withActKey(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		key, err := httpapi.ActKey(c.Request().Header)
		if err != nil {
			return err
		}
		if key != "" {
			c.SetRequest(c.Request().WithContext(broker.WithActKey(c.Request().Context(), key)))
		}
		return next(c)
	}
}

type commitRequest struct {
	ID string `param:"id" json:"-"`
	protocol.CommitTaskRequest
}

// commit commits the changes of the task's workspace. A repeated request returns the same commit.
func (a *API) commit(ctx context.Context, req *commitRequest) (*protocol.CommitResponse, error) {
	return a.Ships.Commit(ctx, a.Auth.Caller(ctx).UserID, req.ID, &req.CommitTaskRequest)
}

type fetchRequest struct {
	ID string `param:"id" json:"-"`
}

// fetchRemote brings new commits of the project's remote into the clone of the task, also while its agent works.
func (a *API) fetchRemote(ctx context.Context, req *fetchRequest) (*protocol.FetchResponse, error) {
	return a.Ships.Fetch(ctx, a.Auth.Caller(ctx).UserID, req.ID)
}

type pushRequest struct {
	ID string `param:"id" json:"-"`
	protocol.PushRequest
}

// push pushes the branch of the task's workspace. A repeated request pushes nothing.
func (a *API) push(ctx context.Context, req *pushRequest) (*protocol.PushResponse, error) {
	return a.Ships.Push(ctx, a.Auth.Caller(ctx).UserID, req.ID, &req.PushRequest)
}

type pullRequestRequest struct {
	ID string `param:"id" json:"-"`
	protocol.PullRequestRequest
}

// pullRequest opens the pull request of the task's branch, or changes the open one.
func (a *API) pullRequest(ctx context.Context, req *pullRequestRequest) (*protocol.PullRequestResponse, error) {
	return a.Ships.PullRequest(ctx, a.Auth.Caller(ctx).UserID, req.ID, &req.PullRequestRequest)
}

type discardRequest struct {
	ID string `param:"id" json:"-"`
	protocol.DiscardRequest
}

// discard gives files of the task's workspace, or a part of one, the content that they had when the task began.
func (a *API) discard(ctx context.Context, req *discardRequest) (*protocol.DiscardResponse, error) {
	return a.Ships.Discard(ctx, a.Auth.Caller(ctx).UserID, req.ID, &req.DiscardRequest)
}
