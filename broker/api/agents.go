package api

import (
	"context"

	"bellhop/protocol"
)

// listAgents returns the agents and projects of all hosts, the same list to every caller. Offers
// of hosts contain no secrets.
func (a *API) listAgents(ctx context.Context, _ *struct{}) (*protocol.OfferList, error) {
	return a.Offers.List(ctx)
}
