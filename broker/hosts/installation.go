package hosts

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"bellhop/broker"
	"bellhop/protocol"
)

// Installations implements broker.InstallationLink.
func (c *Client) Installations(ctx context.Context, t broker.Target) (*protocol.InstallationList, error) {
	var list protocol.InstallationList
	resp, err := c.installation(ctx, t, call{method: http.MethodGet, path: "/installations"}, &list)
	if err != nil {
		return nil, err
	}
	if list.Installations == nil { // such as a gateway's {"success":true}
		return nil, notHost(errNotHost)
	}
	list.Installations = list.Installations[:min(len(list.Installations), protocol.MaxInstallations)]
	for i := range list.Installations {
		resp.cleanInstallation(&list.Installations[i])
	}
	return &list, nil
}

// Install implements broker.InstallationLink.
func (c *Client) Install(
	ctx context.Context, t broker.Target, req *protocol.InstallRequest,
) (*protocol.Installation, error) {
	return c.oneInstallation(ctx, t, call{method: http.MethodPost, path: "/installations", body: req}, req.Program)
}

// CancelInstallation implements broker.InstallationLink.
func (c *Client) CancelInstallation(
	ctx context.Context, t broker.Target, program string,
) (*protocol.Installation, error) {
	path := "/installations/" + url.PathEscape(program)
	return c.oneInstallation(ctx, t, call{method: http.MethodDelete, path: path}, program)
}

// oneInstallation checks that the host answers about the program.
func (c *Client) oneInstallation(
	ctx context.Context, t broker.Target, request call, program string,
) (*protocol.Installation, error) {
	var done protocol.Installation
	resp, err := c.installation(ctx, t, request, &done)
	if err != nil {
		return nil, err
	}
	if done.Program != program || done.State == "" {
		return nil, notHost(errNotHost)
	}
	resp.cleanInstallation(&done)
	return &done, nil
}

// cleanInstallation makes the texts of a host safe to show.
func (r *response) cleanInstallation(n *protocol.Installation) {
	for _, text := range []*string{&n.ID, &n.Program, &n.Title, &n.Version, &n.Error, &n.Hint} {
		*text = r.clean(*text, protocol.MaxInstallationText)
	}
	lines := n.Lines[max(0, len(n.Lines)-protocol.MaxInstallationLines):]
	n.Lines = make([]string, len(lines))
	for i, line := range lines {
		n.Lines[i] = r.clean(line, protocol.MaxInstallationText)
	}
}

// installation sends a call and decodes the response. CodeForbidden: the host's operator does not allow it.
func (c *Client) installation(ctx context.Context, t broker.Target, request call, into any) (*response, error) {
	resp, err := c.do(ctx, t, request)
	if err != nil {
		return nil, unreachable(err)
	}
	body := resp.errorBody()
	switch {
	case resp.lacksRoute(), resp.hidesRoute(), body.Code == protocol.CodeMethodNotAllowed,
		body.Code == protocol.CodeNotFound && request.method == http.MethodGet: // of a host without the route
		return nil, protocol.Errorf(protocol.CodeMethodNotAllowed, "The agent host installs no programs")
	case body.Code == protocol.CodeForbidden, body.Code == protocol.CodeStorageFull:
		return nil, &protocol.Error{Code: body.Code, Message: body.Error, Hint: body.Hint}
	case !resp.ok():
		return nil, resp.failed()
	}
	if json.Unmarshal(resp.body, into) != nil {
		return nil, notHost(errNotJSON)
	}
	return resp, nil
}
