package api

import (
	"context"

	"bellhop/protocol"
)

type templateRequest struct {
	ID string `param:"id" json:"-"`
}

type updateTemplateRequest struct {
	ID string `param:"id" json:"-"`
	protocol.Template
}

type fillTemplateRequest struct {
	ID string `param:"id" json:"-"`
	protocol.FillTemplateRequest
}

func (a *API) listTemplates(ctx context.Context, _ *struct{}) (*protocol.TemplateList, error) {
	return a.Templates.List(ctx, a.Auth.Caller(ctx).UserID)
}

func (a *API) createTemplate(ctx context.Context, req *protocol.Template) (*protocol.Template, error) {
	return a.Templates.Create(ctx, a.Auth.Caller(ctx), req)
}

func (a *API) updateTemplate(ctx context.Context, req *updateTemplateRequest) (*protocol.Template, error) {
	return a.Templates.Update(ctx, a.Auth.Caller(ctx), req.ID, &req.Template)
}

func (a *API) deleteTemplate(ctx context.Context, req *templateRequest) (*protocol.SuccessResponse, error) {
	return success(a.Templates.Delete(ctx, a.Auth.Caller(ctx), req.ID))
}

// fillTemplate returns a prompt and what its task is to be; it creates nothing.
func (a *API) fillTemplate(ctx context.Context, req *fillTemplateRequest) (*protocol.FilledTemplate, error) {
	return a.Templates.Fill(ctx, a.Auth.Caller(ctx).UserID, req.ID, &req.FillTemplateRequest)
}
