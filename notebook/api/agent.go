package api

import (
	"context"

	"bellhop/notebook"
	"bellhop/protocol"
)

type sessionQuery struct {
	AgentSessionID string `query:"agentSessionId" json:"-"`
}

type respondRequest struct {
	ID string `param:"id" json:"-"`
	notebook.RespondRequest
}

type getRequest struct {
	ID           string `param:"id" json:"-"`
	Conversation bool   `query:"conversation" json:"-"`
}

type updateRequest struct {
	ID string `param:"id" json:"-"`
	notebook.UpdateRequest
}

func (a *API) createNotebook(ctx context.Context, req *notebook.CreateRequest) (*notebook.CreateResponse, error) {
	return a.Notebooks.Create(ctx, a.Caller(ctx), req)
}

func (a *API) save(ctx context.Context, req *notebook.SaveRequest) (*notebook.SourceResponse, error) {
	return a.Notebooks.Save(ctx, a.Caller(ctx), req)
}

func (a *API) agentSources(ctx context.Context, req *sessionQuery) (*notebook.SourcesResponse, error) {
	return a.Notebooks.AgentSources(ctx, a.Caller(ctx), req.AgentSessionID)
}

func (a *API) verify(ctx context.Context, req *notebook.VerifyRequest) (*protocol.Verification, error) {
	return a.Notebooks.Verify(ctx, req)
}

func (a *API) followups(ctx context.Context, req *sessionQuery) (*notebook.FollowupsResponse, error) {
	return a.Notebooks.Followups(ctx, a.Caller(ctx), req.AgentSessionID)
}

func (a *API) respond(ctx context.Context, req *respondRequest) (*notebook.RespondResponse, error) {
	return a.Notebooks.Respond(ctx, a.Caller(ctx), req.ID, &req.RespondRequest)
}

func (a *API) agentSource(ctx context.Context, req *getRequest) (*notebook.GetResponse, error) {
	source := &notebook.GetRequest{SourceID: req.ID, Conversation: req.Conversation}
	return a.Notebooks.AgentSource(ctx, a.Caller(ctx), source)
}

func (a *API) updateSource(ctx context.Context, req *updateRequest) (*notebook.SourceResponse, error) {
	return a.Notebooks.Update(ctx, a.Caller(ctx), req.ID, &req.UpdateRequest)
}

func (a *API) deleteAgentSource(ctx context.Context, req *idRequest) (*protocol.SuccessResponse, error) {
	return success(a.Notebooks.DeleteAgentSource(ctx, a.Caller(ctx), req.ID))
}

func (a *API) removeWebhook(ctx context.Context, req *sessionQuery) (*notebook.SessionResponse, error) {
	return a.Notebooks.RemoveWebhook(ctx, a.Caller(ctx), req.AgentSessionID)
}

func (a *API) registerWebhook(ctx context.Context, req *notebook.WebhookRequest) (*notebook.WebhookResponse, error) {
	return a.Notebooks.RegisterWebhook(ctx, a.Caller(ctx), req)
}
