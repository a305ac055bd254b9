package api

import (
	"context"

	"bellhop/notebook"
	"bellhop/protocol"
)

type idRequest struct {
	ID string `param:"id" json:"-"`
}

type versionRequest struct {
	ID      string `param:"id" json:"-"`
	Version int64  `param:"version" json:"-"`
}

type askRequest struct {
	ID string `param:"id" json:"-"`
	notebook.AskRequest
}

type readRequest struct {
	ID string `param:"id" json:"-"`
	notebook.ReadRequest
}

func (a *API) userID(ctx context.Context) string { return a.Caller(ctx).UserID }

func (a *API) listNotebooks(ctx context.Context, _ *struct{}) (*notebook.NotebooksResponse, error) {
	return a.Notebooks.Notebooks(ctx, a.userID(ctx))
}

func (a *API) getNotebook(ctx context.Context, req *idRequest) (*notebook.ContentsResponse, error) {
	return a.Notebooks.Notebook(ctx, a.userID(ctx), req.ID)
}

func (a *API) deleteNotebook(ctx context.Context, req *idRequest) (*protocol.SuccessResponse, error) {
	return success(a.Notebooks.DeleteNotebook(ctx, a.userID(ctx), req.ID))
}

func (a *API) getSource(ctx context.Context, req *idRequest) (*notebook.SourceResponse, error) {
	return a.Notebooks.Source(ctx, a.userID(ctx), req.ID)
}

func (a *API) deleteSource(ctx context.Context, req *idRequest) (*protocol.SuccessResponse, error) {
	return success(a.Notebooks.DeleteSource(ctx, a.userID(ctx), req.ID))
}

func (a *API) listVersions(ctx context.Context, req *idRequest) (*notebook.VersionsResponse, error) {
	return a.Notebooks.Versions(ctx, a.userID(ctx), req.ID)
}

func (a *API) getVersion(ctx context.Context, req *versionRequest) (*notebook.VersionResponse, error) {
	return a.Notebooks.Version(ctx, a.userID(ctx), req.ID, req.Version)
}

func (a *API) getConversation(ctx context.Context, req *idRequest) (*protocol.Conversation, error) {
	return a.Notebooks.Conversation(ctx, a.userID(ctx), req.ID)
}

func (a *API) ask(ctx context.Context, req *askRequest) (*notebook.MessageResponse, error) {
	return a.Notebooks.Ask(ctx, a.userID(ctx), req.ID, &req.AskRequest)
}

func (a *API) markRead(ctx context.Context, req *readRequest) (*protocol.SuccessResponse, error) {
	return success(a.Notebooks.MarkRead(ctx, a.userID(ctx), req.ID, &req.ReadRequest))
}

func (a *API) listSessions(ctx context.Context, _ *struct{}) (*notebook.SessionsResponse, error) {
	return a.Notebooks.Sessions(ctx, a.userID(ctx))
}

func (a *API) disconnect(ctx context.Context, req *idRequest) (*notebook.SessionResponse, error) {
	return a.Notebooks.Disconnect(ctx, a.userID(ctx), req.ID)
}

func (a *API) renew(ctx context.Context, req *idRequest) (*notebook.SessionResponse, error) {
	return a.Notebooks.Renew(ctx, a.userID(ctx), req.ID)
}

func success(err error) (*protocol.SuccessResponse, error) {
	if err != nil {
		return nil, err
	}
	return &protocol.SuccessResponse{Success: true}, nil
}
