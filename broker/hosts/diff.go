package hosts

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// diffLimit is longer than other calls have: the host reads the whole workspace.
const diffLimit = 40 * time.Second

// Diff implements broker.Link. A host that knows no such route makes no diffs.
func (c *Client) Diff(ctx context.Context, t broker.Target, sessionID string) (*protocol.Diff, error) {
	answer, err := c.do(ctx, t, sessionCall(sessionID, call{method: http.MethodGet, path: "/diff", timeout: max(diffLimit, c.timeout)}))
	if err != nil {
		return nil, unreachable(err)
	}
	if !answer.ok() {
		if answer.said().Code == "" && (answer.status == http.StatusNotFound || answer.status == http.StatusMethodNotAllowed) {
			return nil, &protocol.Error{
				Code: protocol.CodeBadGateway, Message: "The agent host makes no diffs",
				Hint: "Only hosts with the capability diff do", Err: hostError{status: answer.status},
			}
		}
		return nil, answer.failed()
	}
	var diff protocol.Diff
	if err := json.Unmarshal(answer.body, &diff); err != nil {
		return nil, unreachable(errNotJSON)
	}
	return &diff, nil
}
