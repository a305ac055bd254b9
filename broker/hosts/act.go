package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"bellhop/broker"
	"bellhop/protocol"
)

// OpenTurn implements broker.Link.
func (c *Client) OpenTurn(ctx context.Context, t broker.Target, sessionID string) (*string, error) {
	found, err := c.Session(ctx, t, sessionID)
	if err != nil {
		return nil, err
	}
	return found.OpenTurn, nil
}

// Interrupt implements broker.Link. CodeMethodNotAllowed: a server answered that does not
// know the route, such as a basic host.
func (c *Client) Interrupt(ctx context.Context, t broker.Target, sessionID, turnID string) error {
	request := call{method: http.MethodPost, path: "/interrupt", body: struct{}{}}
	if turnID != "" && t.Events { // a basic host may refuse a query that it does not know
		request.query = url.Values{"turnId": {turnID}}
	}
	err := c.act(ctx, t, request, sessionID)
	return lacksRoute(err, "The agent host cannot interrupt")
}

// restartLimit is longer than the timeout of other calls: the host ends a turn and a program
// first, and may start a program.
const restartLimit = 40 * time.Second

// Restart implements broker.Link.
func (c *Client) Restart(ctx context.Context, t broker.Target, sessionID string) (*protocol.RestartResponse, error) {
	request := call{method: http.MethodPost, path: "/restart", body: struct{}{}, timeout: max(restartLimit, c.timeout)}
	resp, err := c.confirmed(ctx, t, request, sessionID)
	if err != nil {
		return nil, lacksRoute(err, "The agent host cannot restart agents")
	}
	var done protocol.RestartResponse
	if err := json.Unmarshal(resp.body, &done); err != nil {
		return nil, notHost(errNotJSON)
	}
	return &done, nil
}

// lacksRoute returns CodeMethodNotAllowed with the message if err is the response of a server
// that does not know the route, such as a basic host; else err.
func lacksRoute(err error, message string) error {
	var answered hostError
	if errors.As(err, &answered) && answered.body.Code == "" {
		got := response{status: answered.status}
		if got.lacksRoute() || got.hidesRoute() {
			return &protocol.Error{Code: protocol.CodeMethodNotAllowed, Message: message, Err: answered}
		}
	}
	return err
}

// Answer implements broker.Link.
func (c *Client) Answer(
	ctx context.Context, t broker.Target, sessionID, interactionID string, req *protocol.AnswerRequest,
) error {
	path := "/interactions/" + url.PathEscape(interactionID)
	return c.act(ctx, t, call{method: http.MethodPost, path: path, body: req}, sessionID)
}

// Delete implements broker.Link.
func (c *Client) Delete(ctx context.Context, t broker.Target, sessionID, confirmed string) (*protocol.OnlyCopies, error) {
	var query url.Values
	if confirmed != "" {
		query = url.Values{"onlyCopies": {confirmed}}
	}
	resp, err := c.confirmed(ctx, t, call{method: http.MethodDelete, query: query}, sessionID)
	if err != nil {
		return nil, err
	}
	return resp.kept(sessionID), nil
}

// kept returns what exists only in the workspaces that a host kept, nil if it kept none or does not tell.
func (r *response) kept(sessionID string) *protocol.OnlyCopies {
	var body protocol.Confirmation
	if json.Unmarshal(r.body, &body) != nil || body.SessionID != sessionID || !body.Kept.Exist() {
		return nil
	}
	return body.Kept
}

// OnlyCopies implements broker.Link.
func (c *Client) OnlyCopies(ctx context.Context, t broker.Target, sessionID string) (*protocol.OnlyCopies, error) {
	resp, err := c.do(ctx, t, sessionCall(sessionID, call{method: http.MethodGet, path: "/only-copies"}))
	switch {
	case err != nil:
		return nil, unreachable(err)
	case resp.lacksRoute(), resp.hidesRoute():
		return nil, protocol.Errorf(protocol.CodeMethodNotAllowed, "The agent host does not tell what exists only in a workspace")
	case !resp.ok():
		return nil, resp.failed()
	}
	var found protocol.SessionOnlyCopies
	if json.Unmarshal(resp.body, &found) != nil || found.SessionID != sessionID || found.OnlyCopies.ID == "" {
		return nil, notHost(errNotHost)
	}
	return &found.OnlyCopies, nil
}

// Revoke implements broker.Link. Hosts with events know this route: a 404 or 401 without a code is a gateway's then.
func (c *Client) Revoke(ctx context.Context, t broker.Target, sessionID string) error {
	err := c.act(ctx, t, call{method: http.MethodPost, path: "/revoke", body: struct{}{}}, sessionID)
	if t.Events {
		return err
	}
	return lacksRoute(err, "The agent host cannot revoke stream tokens")
}

// act is confirmed, without the response.
func (c *Client) act(ctx context.Context, t broker.Target, request call, sessionID string) error {
	_, err := c.confirmed(ctx, t, request, sessionID)
	return err
}

// confirmed sends a call that changes a session. A 2xx counts if the response names the
// session, as only a host does. Without the name it may be a gateway's
// {"success":true}. A session that the host does not have any more is deleted all the
// same. Basic hosts name no session, so their 2xx counts.
func (c *Client) confirmed(ctx context.Context, t broker.Target, request call, sessionID string) (*response, error) {
	resp, err := c.session(ctx, t, request, sessionID)
	if err != nil || !t.Events || resp.confirms(sessionID) {
		return resp, err
	}
	if request.method == http.MethodDelete {
		_, err := c.EventPage(ctx, t, sessionID, protocol.Cursor{}, 1)
		if protocol.CodeOf(err) == protocol.CodeNotFound {
			return resp, nil // the session is gone
		}
	}
	return nil, &protocol.Error{
		Code:    protocol.CodeBadGateway,
		Message: "The agent host did not confirm the request",
		Hint:    "A proxy between the broker and the host answered in its place: look at the state, and try again",
		Err:     fmt.Errorf("%w: %w", broker.ErrDoubtful, errNotHost),
	}
}

// confirms reports whether the response names the session.
func (r *response) confirms(sessionID string) bool {
	var body protocol.Confirmation
	return json.Unmarshal(r.body, &body) == nil && body.SessionID == sessionID
}
