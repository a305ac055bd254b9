package hosts

import (
	"context"
	"encoding/json"
	"net/http"

	"bellhop/broker"
	"bellhop/protocol"
)

// Announce implements broker.AnnouncementLink. Only a host that repeats the broker's id has
// taken the list: a gateway's success is none.
func (c *Client) Announce(ctx context.Context, t broker.Target, req *protocol.HostAnnouncements) error {
	resp, err := c.do(ctx, t, call{method: http.MethodPut, path: "/announcements", body: req})
	if err == nil && (resp.lacksRoute() || resp.hidesRoute()) {
		return protocol.Errorf(protocol.CodeNotFound, noAnnouncements)
	}
	return takenBy(req.BrokerID, resp, err, noAnnouncements)
}

const noAnnouncements = "The agent host does not know announcements"

// RevokeCredentials implements broker.Link, with the same proof that a host has answered. Only a host that had
// this route is asked, so a 404 or 401 that does not repeat the request's name is a gateway's: the caller tries again.
func (c *Client) RevokeCredentials(ctx context.Context, t broker.Target, req *protocol.RevokeRequest) error {
	resp, err := c.do(ctx, t, call{method: http.MethodPost, path: "/revoke", body: req})
	return takenBy(req.BrokerID, resp, err, "The agent host does not know credentials")
}

// takenBy returns nil if the response to a request about all sessions of a broker repeats the broker's
// id, and CodeNotFound with the message lacks if the host says that it does not know the route.
func takenBy(brokerID string, resp *response, err error, lacks string) error {
	if err != nil {
		return unreachable(err)
	}
	switch code := resp.errorBody().Code; {
	case code == protocol.CodeNotFound, code == protocol.CodeMethodNotAllowed:
		return protocol.Errorf(protocol.CodeNotFound, "%s", lacks)
	case !resp.ok():
		return resp.failed()
	}
	var taken protocol.RevokeResponse
	if json.Unmarshal(resp.body, &taken) != nil || !taken.Success || taken.BrokerID != brokerID {
		return notHost(errNotHost)
	}
	return nil
}
