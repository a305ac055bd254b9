package api

import (
	"context"

	"bellhop/protocol"
)

// diff is what the session has changed since it began.
func (a *API) diff(ctx context.Context, req *sessionRequest) (*protocol.Diff, error) {
	return a.Host.Diff(ctx, req.ID)
}
