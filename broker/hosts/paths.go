package hosts

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// pathsLimit is longer than the timeout of other calls: the host may read the names of all files.
const pathsLimit = 20 * time.Second

// SessionPaths implements broker.FileLink.
func (c *Client) SessionPaths(
	ctx context.Context, t broker.Target, sessionID, query string,
) (*protocol.PathList, error) {
	return c.paths(ctx, t, sessionCall(sessionID, call{path: "/paths", query: url.Values{"q": {query}}}))
}

// ProjectPaths implements broker.FileLink.
func (c *Client) ProjectPaths(
	ctx context.Context, t broker.Target, project, branch, query string,
) (*protocol.PathList, error) {
	return c.paths(ctx, t, call{
		path: "/projects/" + url.PathEscape(project) + "/paths", query: url.Values{"q": {query}, "branch": {branch}},
	})
}

func (c *Client) paths(ctx context.Context, t broker.Target, request call) (*protocol.PathList, error) {
	request.method, request.timeout = http.MethodGet, max(pathsLimit, c.timeout)
	resp, err := c.do(ctx, t, request)
	switch {
	case err != nil:
		return nil, unreachable(err)
	case resp.lacksRoute(), resp.hidesRoute(), resp.errorBody().Code == protocol.CodeMethodNotAllowed:
		return nil, protocol.Errorf(protocol.CodeMethodNotAllowed, "The agent host lists no files")
	case !resp.ok():
		return nil, resp.failed()
	}
	var list protocol.PathList
	if json.Unmarshal(resp.body, &list) != nil || list.Paths == nil {
		return nil, notHost(errNotHost) // such as a gateway's {"success":true}
	}
	return &list, nil
}
