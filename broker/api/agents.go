package api

import "context"

// Agent is an agent that hosts offer without configuration, by the id that
// POST /api/tasks takes.
type Agent struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type agentsResponse struct {
	Agents []Agent `json:"agents"`
}

// listAgents answers the same to every caller: what a host really has installed
// is known to the host alone.
func (a *API) listAgents(context.Context, *struct{}) (*agentsResponse, error) {
	return &agentsResponse{Agents: append([]Agent{}, a.Agents...)}, nil
}
