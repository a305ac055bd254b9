package hosts

import (
	"context"
	"encoding/json"
	"net/http"

	"bellhop/broker"
	"bellhop/protocol"
)

// Workspaces implements broker.WorkspaceLink.
func (c *Client) Workspaces(ctx context.Context, t broker.Target, userID string) (*protocol.WorkspaceList, error) {
	resp, err := c.do(ctx, t, call{method: http.MethodGet, path: "/workspaces", owner: userID})
	switch {
	case err != nil:
		return nil, unreachable(err)
	case resp.lacksRoute(), resp.hidesRoute(), resp.errorBody().Code == protocol.CodeNotFound,
		resp.errorBody().Code == protocol.CodeMethodNotAllowed:
		return nil, protocol.Errorf(protocol.CodeNotFound, "The agent host has no workspaces that tasks can name")
	case !resp.ok():
		return nil, resp.failed()
	}
	var list protocol.WorkspaceList
	if json.Unmarshal(resp.body, &list) != nil || list.Workspaces == nil {
		return nil, notHost(errNotHost) // such as a gateway's {"success":true}
	}
	return &list, nil
}

// Workspace implements broker.Link. A host without this route describes no workspaces.
func (c *Client) Workspace(ctx context.Context, t broker.Target, sessionID string) (*protocol.SessionWorkspace, error) {
	resp, err := c.do(ctx, t, sessionCall(sessionID, call{method: http.MethodGet, path: "/workspace"}))
	switch {
	case err != nil:
		return nil, unreachable(err)
	case resp.lacksRoute(), resp.hidesRoute():
		return nil, protocol.Errorf(protocol.CodeMethodNotAllowed, "The agent host does not describe workspaces")
	case !resp.ok():
		return nil, resp.failed()
	}
	var found protocol.SessionWorkspace
	if json.Unmarshal(resp.body, &found) != nil || found.Workspace == nil {
		return nil, notHost(errNotHost)
	}
	return &found, nil
}
