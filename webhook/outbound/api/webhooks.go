package api

import (
	"context"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

// webhook is an endpoint for task events as its owner gets it. Secret is present only in the
// response that created or rotated it.
type webhook struct {
	ID             string                  `json:"id"`
	URL            string                  `json:"url"`
	Events         []protocol.WebhookEvent `json:"events"`
	Format         protocol.WebhookFormat  `json:"format,omitempty"`
	Secret         string                  `json:"secret,omitempty"`
	Disabled       bool                    `json:"disabled"`
	DisabledReason string                  `json:"disabledReason,omitempty"`
	CreatedAt      time.Time               `json:"createdAt"`
}

type webhooksResponse struct {
	Webhooks []webhook `json:"webhooks"`
}

type createWebhookRequest struct {
	URL    string                  `json:"url"`
	Events []protocol.WebhookEvent `json:"events"`
	Format protocol.WebhookFormat  `json:"format,omitempty"`
	Secret seal.Secret             `json:"secret,omitzero"`
}

type webhookRequest struct {
	ID string `param:"id" json:"-"`
}

type rotateRequest struct {
	ID     string      `param:"id" json:"-"`
	Secret seal.Secret `json:"secret,omitzero"`
}

type webhookResponse struct {
	Webhook webhook `json:"webhook"`
}

func (a *API) listWebhooks(ctx context.Context, _ *struct{}) (*webhooksResponse, error) {
	list, err := a.Service.Endpoints(ctx, a.UserID(ctx), outbound.KindTask)
	if err != nil {
		return nil, err
	}
	resp := &webhooksResponse{Webhooks: make([]webhook, len(list))}
	for i := range list {
		resp.Webhooks[i] = showWebhook(&list[i])
	}
	return resp, nil
}

func (a *API) createWebhook(ctx context.Context, req *createWebhookRequest) (*webhookResponse, error) {
	e, err := a.Service.Register(ctx, a.UserID(ctx), outbound.EndpointRequest{
		Kind: outbound.KindTask, URL: req.URL, Events: req.Events, Format: req.Format, Secret: req.Secret,
	})
	return withSecret(e, err)
}

func (a *API) deleteWebhook(ctx context.Context, req *webhookRequest) (*protocol.SuccessResponse, error) {
	return success(a.Service.Remove(ctx, a.UserID(ctx), outbound.KindTask, req.ID))
}

func (a *API) rotate(ctx context.Context, req *rotateRequest) (*webhookResponse, error) {
	var e *outbound.Endpoint
	rotate := func(ctx context.Context) (err error) {
		e, err = a.Service.Rotate(ctx, a.UserID(ctx), outbound.KindTask, req.ID, req.Secret)
		return err
	}
	if a.Rotating == nil {
		return withSecret(e, rotate(ctx))
	}
	return withSecret(e, a.Rotating(ctx, req.ID, rotate))
}

func (a *API) enable(ctx context.Context, req *webhookRequest) (*protocol.SuccessResponse, error) {
	return success(a.Service.Enable(ctx, a.UserID(ctx), outbound.KindTask, req.ID))
}

func withSecret(e *outbound.Endpoint, err error) (*webhookResponse, error) {
	if err != nil {
		return nil, err
	}
	shown := showWebhook(e)
	shown.Secret = e.Secret.Reveal()
	return &webhookResponse{Webhook: shown}, nil
}

func showWebhook(e *outbound.Endpoint) webhook {
	return webhook{
		ID: e.ID, URL: e.URL, Events: e.Events, Format: e.Format, Disabled: e.Disabled(),
		DisabledReason: e.DisabledReason, CreatedAt: e.CreatedAt,
	}
}

func success(err error) (*protocol.SuccessResponse, error) {
	if err != nil {
		return nil, err
	}
	return &protocol.SuccessResponse{Success: true}, nil
}
