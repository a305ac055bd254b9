package hosts

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// diffLimit is longer than the timeout of other calls: the host reads all files of
// the workspace.
const diffLimit = 40 * time.Second

// Diff implements broker.Link. A host without this route cannot make diffs.
func (c *Client) Diff(ctx context.Context, t broker.Target, sessionID string) (*protocol.Diff, error) {
	resp, err := c.do(ctx, t, sessionCall(sessionID, call{
		method: http.MethodGet, path: "/diff", timeout: max(diffLimit, c.timeout),
	}))
	if err != nil {
		return nil, unreachable(err)
	}
	if !resp.ok() {
		if resp.lacksRoute() || resp.hidesRoute() {
			return nil, &protocol.Error{
				Code: protocol.CodeMethodNotAllowed, Message: "The agent host makes no diffs",
				Hint: "Only hosts with the capability diff do", Err: hostError{status: resp.status},
			}
		}
		return nil, resp.failed()
	}
	var diff protocol.Diff
	if err := json.Unmarshal(resp.body, &diff); err != nil {
		return nil, notHost(errNotJSON)
	}
	if diff.Files == nil { // a gateway's {"success":true} would read as a workspace without changes
		return nil, notHost(errNotHost)
	}
	return &diff, nil
}
