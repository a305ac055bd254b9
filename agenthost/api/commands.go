package api

import (
	"context"

	"bellhop/protocol"
)

type sessionCommandsRequest struct {
	ID string `param:"id" json:"-"`
}

// sessionCommands lists the slash commands that the session's agent reported last.
func (a *API) sessionCommands(_ context.Context, req *sessionCommandsRequest) (*protocol.CommandList, error) {
	return a.Host.Commands(req.ID)
}
