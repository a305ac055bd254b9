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
	offer.Notices = validNotices(offer.Notices)
	offer.Sandbox = validSandbox(offer.Sandbox)
	offer.Version = protocol.HostVersion(offer.Version)
	return &offer, nil
}

// validNotices leaves out what no announcement could be: consoles show the notices of a host to every user.
func validNotices(notices []protocol.HostNotice) (valid []protocol.HostNotice) {
	for _, n := range notices {
		shown := protocol.Announcement{ID: n.ID, Level: n.Level, Text: n.Text}
		if protocol.CheckAnnouncement(&shown) == nil && len(valid) < protocol.MaxAnnouncements {
			valid = append(valid, n)
		}
	}
	return valid
}

// validSandbox returns nil for a level that no host has.
func validSandbox(level *protocol.OfferedSandbox) *protocol.OfferedSandbox {
	if level == nil || level.Check() != nil {
		return nil
	}
	level.Limits, level.Open = append([]string{}, level.Limits...), append([]string{}, level.Open...)
	return level
}
