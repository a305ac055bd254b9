package api

import (
	"context"

	"bellhop/protocol"
)

type healthResponse struct {
	Status string `json:"status"`
}

// healthz checks only that the process responds, because a restart repairs nothing
// else.
func (a *API) healthz(context.Context, *struct{}) (*healthResponse, error) {
	return &healthResponse{Status: "ok"}, nil
}

// readyz reports whether the database accepts writes, without which no request can
// be served. 503, or 507 storage_full.
func (a *API) readyz(ctx context.Context, _ *struct{}) (*healthResponse, error) {
	err := a.Ready(ctx)
	if protocol.CodeOf(err) == protocol.CodeStorageFull {
		return nil, err
	}
	if err != nil {
		return nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: "The database is not available", RetryAfter: 1, Err: err}
	}
	return &healthResponse{Status: "ready"}, nil
}
