package api

import "context"

// Agent is an agent that hosts offer without configuration. Its id is a valid agent
// of POST /api/tasks.
type Agent struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type agentsResponse struct {
	Agents []Agent `json:"agents"`
}

// listAgents returns the same list to every caller: only a host knows which agents
// are installed there.
func (a *API) listAgents(context.Context, *struct{}) (*agentsResponse, error) {
	return &agentsResponse{Agents: append([]Agent{}, a.Agents...)}, nil
}
