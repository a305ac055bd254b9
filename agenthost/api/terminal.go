package api

import (
	"context"

	"bellhop/agenthost"
)

type terminalRequest struct {
	ID       string `param:"id" json:"-"`
	Attached bool   `json:"attached"` // the client that was asked for is open: the agent is in use
}

// terminal answers with secrets: whoever has the host's password may run its
// agents anyway.
func (a *API) terminal(ctx context.Context, req *terminalRequest) (*agenthost.Terminal, error) {
	if req.Attached {
		return &agenthost.Terminal{}, a.Host.TerminalOpen(req.ID)
	}
	return a.Host.Terminal(ctx, req.ID)
}
