package hosts

import (
	"context"
	"encoding/json"
	"net/http"

	"bellhop/broker"
	"bellhop/protocol"
)

// SessionCommands implements broker.CommandLink.
func (c *Client) SessionCommands(
	ctx context.Context, t broker.Target, sessionID string,
) (*protocol.CommandList, error) {
	resp, err := c.do(ctx, t, sessionCall(sessionID, call{method: http.MethodGet, path: "/commands"}))
	switch {
	case err != nil:
		return nil, unreachable(err)
	case resp.lacksRoute(), resp.hidesRoute(), resp.errorBody().Code == protocol.CodeMethodNotAllowed:
		return nil, protocol.Errorf(protocol.CodeMethodNotAllowed, "The agent host lists no commands")
	case !resp.ok():
		return nil, resp.failed()
	}
	var list protocol.CommandList
	if json.Unmarshal(resp.body, &list) != nil || list.Commands == nil {
		return nil, notHost(errNotHost) // such as a gateway's {"success":true}
	}
	return &list, nil
}
