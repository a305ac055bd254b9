package hosts

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// shipLimit is longer than the timeout of other calls: the host reads all files of the workspace.
const shipLimit = 150 * time.Second

// withToken is the part of a body that carries a user's own token.
type withToken struct {
	Credential *protocol.ForgeCredential `json:"credential,omitempty"`
}

func credential(own *broker.ForgeToken) *protocol.ForgeCredential {
	if own == nil {
		return nil
	}
	return &protocol.ForgeCredential{Forge: own.Forge, Kind: own.Kind, Token: own.Token.Reveal()}
}

// Commit implements broker.ShipLink.
func (c *Client) Commit(
	ctx context.Context, t broker.Target, sessionID string, req *protocol.CommitRequest,
) (*protocol.CommitResponse, error) {
	var done protocol.CommitResponse
	if err := c.ship(ctx, t, sessionID, "/commit", req, &done); err != nil {
		return nil, err
	}
	if done.SessionID != sessionID || done.Commit == "" { // a gateway's {"success":true}
		return nil, notHost(errNotHost)
	}
	return &done, nil
}

// Discard implements broker.ShipLink.
func (c *Client) Discard(
	ctx context.Context, t broker.Target, sessionID string, req *protocol.DiscardRequest,
) (*protocol.DiscardResponse, error) {
	var done protocol.DiscardResponse
	if err := c.ship(ctx, t, sessionID, "/discard", req, &done); err != nil {
		return nil, err
	}
	if done.SessionID != sessionID {
		return nil, notHost(errNotHost)
	}
	return &done, nil
}

// Fetch implements broker.ShipLink.
func (c *Client) Fetch(
	ctx context.Context, t broker.Target, sessionID string, own *broker.ForgeToken,
) (*protocol.FetchResponse, error) {
	var done protocol.FetchResponse
	if err := c.ship(ctx, t, sessionID, "/fetch", withToken{Credential: credential(own)}, &done); err != nil {
		return nil, err
	}
	if done.SessionID != sessionID || done.Branch == "" {
		return nil, notHost(errNotHost)
	}
	return &done, nil
}

// Push implements broker.ShipLink.
func (c *Client) Push(
	ctx context.Context, t broker.Target, sessionID string, req *protocol.PushRequest, own *broker.ForgeToken,
) (*protocol.PushResponse, error) {
	var done protocol.PushResponse
	body := struct {
		*protocol.PushRequest
		withToken
	}{req, withToken{credential(own)}}
	if err := c.ship(ctx, t, sessionID, "/push", body, &done); err != nil {
		return nil, err
	}
	if done.SessionID != sessionID || done.Commit == "" {
		return nil, notHost(errNotHost)
	}
	return &done, nil
}

// PullRequest implements broker.ShipLink.
func (c *Client) PullRequest(
	ctx context.Context, t broker.Target, sessionID string, req *protocol.PullRequestRequest, own *broker.ForgeToken,
) (*protocol.PullRequestResponse, error) {
	var done protocol.PullRequestResponse
	body := struct {
		*protocol.PullRequestRequest
		withToken
	}{req, withToken{credential(own)}}
	if err := c.ship(ctx, t, sessionID, "/pull-request", body, &done); err != nil {
		return nil, err
	}
	if done.SessionID != sessionID || done.URL == "" {
		return nil, notHost(errNotHost)
	}
	return &done, nil
}

// ship sends a step and decodes its answer.
func (c *Client) ship(ctx context.Context, t broker.Target, sessionID, path string, body, done any) error {
	request := call{method: http.MethodPost, path: path, body: body, timeout: max(shipLimit, c.timeout)}
	resp, err := c.do(ctx, t, sessionCall(sessionID, request))
	switch {
	case err != nil:
		return unreachable(err)
	case resp.lacksRoute(), resp.hidesRoute(), resp.errorBody().Code == protocol.CodeMethodNotAllowed:
		return protocol.Errorf(protocol.CodeMethodNotAllowed, "The agent host does not ship the work of sessions")
	case !resp.ok():
		return resp.failed()
	}
	if json.Unmarshal(resp.body, done) != nil {
		return notHost(errNotJSON)
	}
	return nil
}
