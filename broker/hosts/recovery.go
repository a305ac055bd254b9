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
func (c *Client) Reconcile(
	ctx context.Context, t broker.Target, req *protocol.ReconcileRequest,
) (*protocol.ReconcileResponse, error) {
	request := call{method: http.MethodPost, path: "/reconcile", body: req}
	return fetch(ctx, c, t, request, func(r *protocol.ReconcileResponse) bool { return r.Acknowledged != nil })
}

// Sessions implements broker.RecoveryLink.
func (c *Client) Sessions(
	ctx context.Context, t broker.Target, brokerID, after string, limit int,
) (*protocol.BoundSessionList, error) {
	query := url.Values{"brokerId": {brokerID}, "after": {after}, "limit": {strconv.Itoa(limit)}}
	request := call{method: http.MethodGet, path: "/session", query: query}
	return fetch(ctx, c, t, request, func(l *protocol.BoundSessionList) bool { return l.Sessions != nil })
}

// Session implements broker.RecoveryLink.
func (c *Client) Session(ctx context.Context, t broker.Target, sessionID string) (*protocol.BoundSession, error) {
	request := sessionCall(sessionID, call{method: http.MethodGet})
	return fetch(ctx, c, t, request, func(s *protocol.BoundSession) bool { return s.SessionID == sessionID })
}

// fetch sends a call and reads its response. Every status but 2xx is an error, and so is a response
// that no host wrote: a gateway's {"success":true} would read as a host without sessions.
func fetch[R any](ctx context.Context, c *Client, t broker.Target, request call, ofHost func(*R) bool) (*R, error) {
	resp, err := c.do(ctx, t, request)
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
	if !ofHost(&out) {
		return nil, notHost(errNotHost)
	}
	return &out, nil
}
