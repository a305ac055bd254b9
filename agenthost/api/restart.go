package api

import (
	"context"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// restart responds when the agent's program has ended.
func (a *API) restart(ctx context.Context, req *sessionRequest) (*protocol.RestartResponse, error) {
	turn, err := a.Host.Restart(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return &protocol.RestartResponse{Success: true, SessionID: req.ID, EndedTurn: turn}, nil
}

type projectRequest struct {
	Project string `param:"project" json:"-"`
}

type stoppedResponse struct {
	Project string                     `json:"project"`
	Stopped []agenthost.StoppedSession `json:"stopped"`
}

// stopProject responds when the agents have ended.
func (a *API) stopProject(ctx context.Context, req *projectRequest) (*stoppedResponse, error) {
	stopped, err := a.Host.StopProject(ctx, req.Project)
	if err != nil {
		return nil, err
	}
	return &stoppedResponse{Project: req.Project, Stopped: stopped}, nil
}
