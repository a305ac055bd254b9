package api

import (
	"context"

	"bellhop/agenthost"
)

// terminal answers with secrets: whoever has the host's password may run its
// agents anyway.
func (a *API) terminal(ctx context.Context, req *sessionRequest) (*agenthost.Terminal, error) {
	return a.Host.Terminal(ctx, req.ID)
}
