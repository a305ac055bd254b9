package api

import (
	"context"

	"bellhop/protocol"
)

// diff returns the changes in the session's workspace.
func (a *API) diff(ctx context.Context, req *sessionRequest) (*protocol.Diff, error) {
	return a.Host.Diff(ctx, req.ID)
}
