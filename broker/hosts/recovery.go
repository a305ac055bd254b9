package hosts

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"bellhop/broker"
	"bellhop/protocol"
)

var _ broker.RecoveryLink = (*Client)(nil)

// Reconcile implements broker.RecoveryLink.
func (c *Client) Reconcile(ctx context.Context, t broker.Target, req *protocol.ReconcileRequest) (*protocol.ReconcileResponse, error) {
	return fetch[protocol.ReconcileResponse](ctx, c, t, call{method: http.MethodPost, path: "/reconcile", body: req})
}

// Sessions implements broker.RecoveryLink.
func (c *Client) Sessions(ctx context.Context, t broker.Target, brokerID, after string, limit int) (*protocol.BoundSessionList, error) {
	query := url.Values{"brokerId": {brokerID}, "after": {after}, "limit": {strconv.Itoa(limit)}}
	return fetch[protocol.BoundSessionList](ctx, c, t, call{method: http.MethodGet, path: "/session", query: query})
}

// fetch sends a call and reads its response. Every status but 2xx is an error.
func fetch[R any](ctx context.Context, c *Client, t broker.Target, what call) (*R, error) {
	resp, err := c.do(ctx, t, what)
	if err != nil {
		return nil, unreachable(err)
	}
	if !resp.ok() {
		return nil, resp.failed()
	}
	var out R
	if err := json.Unmarshal(resp.body, &out); err != nil {
		return nil, notHost(errNotJSON)
	}
	return &out, nil
}
