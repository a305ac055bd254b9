package hosts

import (
	"context"
	"encoding/json"
	"net/http"

	"bellhop/broker"
	"bellhop/protocol"
)

// Offer implements broker.OfferLink.
func (c *Client) Offer(ctx context.Context, t broker.Target) (*protocol.HostOffer, error) {
	resp, err := c.do(ctx, t, call{method: http.MethodGet, path: "/offer"})
	switch {
	case err != nil:
		return nil, unreachable(err)
	case resp.lacksRoute(), resp.hidesRoute(), resp.errorBody().Code == protocol.CodeNotFound,
		resp.errorBody().Code == protocol.CodeMethodNotAllowed:
		return nil, protocol.Errorf(protocol.CodeNotFound, "The agent host does not describe its agents")
	case !resp.ok():
		return nil, resp.failed()
	}
	var offer protocol.HostOffer
	if json.Unmarshal(resp.body, &offer) != nil || offer.Agents == nil || offer.Projects == nil {
		return nil, notHost(errNotHost) // such as a gateway's {"success":true}
	}
	return &offer, nil
}
