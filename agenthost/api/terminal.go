package api

import (
	"context"

	"bellhop/agenthost"
)

type terminalRequest struct {
	ID       string `param:"id" json:"-"`
	Attached bool   `json:"attached"` // report that the terminal client is still open
}

// terminal returns the command of the agent's terminal client, including secrets.
// Callers have the agent password, so they can run the host's agents anyway.
func (a *API) terminal(ctx context.Context, req *terminalRequest) (*agenthost.Terminal, error) {
	if req.Attached {
		return &agenthost.Terminal{}, a.Host.TerminalOpen(req.ID)
	}
	return a.Host.Terminal(ctx, req.ID)
}
