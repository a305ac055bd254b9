package api

import (
	"context"

	"bellhop/protocol"
)

type boundRequest struct {
	BrokerID string `query:"brokerId" json:"-"`
	After    string `query:"after" json:"-"`
	Limit    int64  `query:"limit" json:"-"`
}

func (a *API) boundSessions(_ context.Context, req *boundRequest) (*protocol.BoundSessionList, error) {
	if req.BrokerID == "" {
		return nil, protocol.Errorf(protocol.CodeInvalid, "brokerId is required")
	}
	return a.Host.Bound(req.BrokerID, req.After, int(min(max(req.Limit, 0), 1<<20))), nil
}

func (a *API) boundSession(_ context.Context, req *sessionRequest) (*protocol.BoundSession, error) {
	return a.Host.BoundSession(req.ID)
}

func (a *API) reconcile(ctx context.Context, req *protocol.ReconcileRequest) (*protocol.ReconcileResponse, error) {
	life, _ := ctx.Value(byLife{}).(protocol.Life)
	if err := a.Host.CheckBroker(ctx, life, "", req.Force); err != nil {
		return nil, err
	}
	return a.Host.Reconcile(ctx, req)
}
