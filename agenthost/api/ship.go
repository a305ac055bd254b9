package api

import (
	"context"

	"bellhop/agenthost"
	"bellhop/protocol"
)

type commitRequest struct {
	ID string `param:"id" json:"-"`
	protocol.CommitRequest
}

// commit commits the changes of the session's workspace.
func (a *API) commit(ctx context.Context, req *commitRequest) (*protocol.CommitResponse, error) {
	if act := agenthost.ActOf(ctx); act != nil {
		req.At = act.Seen // so a copy of the request asks for the same commit
	}
	return a.Host.Commit(ctx, req.ID, &req.CommitRequest)
}

type fetchRequest struct {
	ID         string                    `param:"id" json:"-"`
	Credential *protocol.ForgeCredential `json:"credential"`
}

// fetchRemote brings new commits of the project's remote into the session's clone.
func (a *API) fetchRemote(ctx context.Context, req *fetchRequest) (*protocol.FetchResponse, error) {
	return a.Host.FetchRemote(ctx, req.ID, req.Credential)
}

type pushRequest struct {
	ID string `param:"id" json:"-"`
	protocol.PushRequest

	Credential *protocol.ForgeCredential `json:"credential"`
}

// push pushes the branch of the session's workspace to the remote of its project.
func (a *API) push(ctx context.Context, req *pushRequest) (*protocol.PushResponse, error) {
	return a.Host.Push(ctx, req.ID, &req.PushRequest, req.Credential)
}

type pullRequestRequest struct {
	ID string `param:"id" json:"-"`
	protocol.PullRequestRequest

	Credential *protocol.ForgeCredential `json:"credential"`
}

// pullRequest opens the pull request of the session's branch, or changes the open one.
func (a *API) pullRequest(ctx context.Context, req *pullRequestRequest) (*protocol.PullRequestResponse, error) {
	return a.Host.PullRequest(ctx, req.ID, &req.PullRequestRequest, req.Credential)
}

type discardRequest struct {
	ID string `param:"id" json:"-"`
	protocol.DiscardRequest
}

// discard gives files of the session's workspace, or a part of one, the content that they had when the session began.
func (a *API) discard(ctx context.Context, req *discardRequest) (*protocol.DiscardResponse, error) {
	return a.Host.Discard(ctx, req.ID, &req.DiscardRequest)
}
