package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"bellhop/broker"
	"bellhop/protocol"
)

// Interrupt implements broker.Link. CodeMethodNotAllowed: a server answered that does not
// know the route, such as a basic host.
func (c *Client) Interrupt(ctx context.Context, t broker.Target, sessionID string) error {
	err := c.act(ctx, t, call{method: http.MethodPost, path: "/interrupt", body: struct{}{}}, sessionID)
	var answered hostError
	if errors.As(err, &answered) && answered.body.Code == "" {
		got := response{status: answered.status}
		if got.lacksRoute() || got.hidesRoute() {
			return &protocol.Error{
				Code: protocol.CodeMethodNotAllowed, Message: "The agent host cannot interrupt", Err: answered,
			}
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
func (c *Client) Delete(ctx context.Context, t broker.Target, sessionID string) error {
	return c.act(ctx, t, call{method: http.MethodDelete}, sessionID)
}

// Revoke implements broker.Link.
func (c *Client) Revoke(ctx context.Context, t broker.Target, sessionID string) error {
	return c.act(ctx, t, call{method: http.MethodPost, path: "/revoke", body: struct{}{}}, sessionID)
}

// act sends a call that changes a session. A 2xx counts if the response names the
// session, as only a host does. Without the name it may be a gateway's
// {"success":true}; then the host decides whether such a response can be its own.
// Basic hosts cannot be asked, so that their 2xx counts.
func (c *Client) act(ctx context.Context, t broker.Target, what call, sessionID string) error {
	resp, err := c.session(ctx, t, what, sessionID)
	if err != nil || !t.Events || resp.confirms(sessionID) {
		return err
	}
	page, err := c.EventPage(ctx, t, sessionID, protocol.Cursor{}, 1)
	switch {
	case protocol.CodeOf(err) == protocol.CodeNotFound && what.method == http.MethodDelete:
		return nil // the session is gone
	case err == nil && page.SessionID == "":
		return nil // an older host, which never names the session
	case err == nil:
		err = errNotHost
	}
	return &protocol.Error{
		Code:    protocol.CodeBadGateway,
		Message: "The agent host did not confirm the request",
		Hint:    "A proxy between the broker and the host answered in its place: look at the state, and try again",
		Err:     fmt.Errorf("%w: %w", broker.ErrDoubtful, err),
	}
}

// confirms reports whether the response names the session, or is an older host's to
// DELETE.
func (r *response) confirms(sessionID string) bool {
	var body protocol.Confirmation
	if json.Unmarshal(r.body, &body) != nil {
		return false
	}
	return body.SessionID == sessionID || body.SessionID == "" && body.WorktreeKept != nil
}
