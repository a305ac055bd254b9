package api

import (
	"context"

	"bellhop/protocol"
)

// healthz checks only that the process responds, because a restart repairs nothing
// else.
func (a *API) healthz(context.Context, *struct{}) (*protocol.Readiness, error) {
	return &protocol.Readiness{Status: "ok"}, nil
}

// readyz reports whether the database accepts writes, without which no request can
// be served. 503, or 507 storage_full.
func (a *API) readyz(ctx context.Context, _ *struct{}) (*protocol.Readiness, error) {
	err := a.Ready(ctx)
	if protocol.CodeOf(err) == protocol.CodeStorageFull {
		return nil, err
	}
	if err != nil {
		return nil, &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "The database is not available", RetryAfter: 1, Err: err,
		}
	}
	ready := &protocol.Readiness{Status: "ready"}
	if a.Disk.Low() {
		ready.Storage = protocol.StorageLow
	}
	return ready, nil
}
