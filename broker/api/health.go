package api

import (
	"context"

	"bellhop/protocol"
)

type healthResponse struct {
	Status string `json:"status"`
}

// healthz says that the process answers; a restart mends nothing else.
func (a *API) healthz(context.Context, *struct{}) (*healthResponse, error) {
	return &healthResponse{Status: "ok"}, nil
}

// readyz says whether requests can be served: without the database none can.
func (a *API) readyz(ctx context.Context, _ *struct{}) (*healthResponse, error) {
	if err := a.Ready(ctx); err != nil {
		return nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: "The database is not available", RetryAfter: 1, Err: err}
	}
	return &healthResponse{Status: "ready"}, nil
}
