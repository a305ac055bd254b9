package api

import (
	"context"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// life is that of the broker's database, for hosts; "" = none.
func (a *API) life() string {
	if a.Life == nil {
		return ""
	}
	return a.Life().Short()
}

// healthz checks only that the process responds, because a restart repairs nothing
// else.
func (a *API) healthz(context.Context, *struct{}) (*protocol.Readiness, error) {
	return &protocol.Readiness{Status: "ok"}, nil
}

// readyz reports whether the database accepts writes, without which no request can
// be served. 503, or 507 storage_full.
func (a *API) readyz(ctx context.Context, _ *struct{}) (*protocol.Readiness, error) {
	return httpapi.Readiness(a.Ready(ctx), "The database is not available", a.Disk.Low)
}
