package api

import (
	"context"

	"bellhop/protocol"
)

type adoptRequest struct {
	SessionID string `param:"sessionId" json:"-"`
	protocol.AdoptRequest
}

func (a *API) listOrphans(ctx context.Context, _ *struct{}) (*protocol.OrphanList, error) {
	return a.Adoption.List(ctx, a.Auth.Caller(ctx))
}

func (a *API) adopt(ctx context.Context, req *adoptRequest) (*protocol.Task, error) {
	return a.Adoption.Adopt(ctx, a.Auth.Caller(ctx), req.SessionID, &req.AdoptRequest)
}
