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

var _ broker.ContentLink = (*Client)(nil)

// Directory implements broker.ContentLink.
func (c *Client) Directory(
	ctx context.Context, t broker.Target, sessionID, path, after string,
) (*protocol.FileList, error) {
	var list protocol.FileList
	query := url.Values{"path": {path}, "after": {after}}
	if err := c.content(ctx, t, sessionID, "/files", query, &list); err != nil {
		return nil, err
	}
	if list.Entries == nil { // such as a gateway's {"success":true}
		return nil, notHost(errNotHost)
	}
	return &list, nil
}

// File implements broker.ContentLink.
func (c *Client) File(
	ctx context.Context, t broker.Target, sessionID, path string, offset int64,
) (*protocol.FileContent, error) {
	var file protocol.FileContent
	query := url.Values{"path": {path}, "offset": {strconv.FormatInt(offset, 10)}}
	if err := c.content(ctx, t, sessionID, "/file", query, &file); err != nil {
		return nil, err
	}
	if file.Kind == "" {
		return nil, notHost(errNotHost)
	}
	return &file, nil
}

// SearchFiles implements broker.ContentLink.
func (c *Client) SearchFiles(
	ctx context.Context, t broker.Target, sessionID string, q protocol.FileSearch,
) (*protocol.FileMatches, error) {
	var found protocol.FileMatches
	query := url.Values{
		"q": {q.Query}, "regexp": {strconv.FormatBool(q.Regexp)}, "case": {strconv.FormatBool(q.Case)},
	}
	if err := c.content(ctx, t, sessionID, "/search", query, &found); err != nil {
		return nil, err
	}
	if found.Matches == nil {
		return nil, notHost(errNotHost)
	}
	return &found, nil
}

// content asks for files of a session, and decodes the answer.
func (c *Client) content(
	ctx context.Context, t broker.Target, sessionID, path string, query url.Values, into any,
) error {
	resp, err := c.do(ctx, t, sessionCall(sessionID, call{
		method: http.MethodGet, path: path, query: query, timeout: max(pathsLimit, c.timeout),
	}))
	switch {
	case err != nil:
		return unreachable(err)
	case resp.lacksRoute(), resp.hidesRoute(), resp.errorBody().Code == protocol.CodeMethodNotAllowed:
		return protocol.Errorf(protocol.CodeMethodNotAllowed, "The agent host shows no files")
	case !resp.ok():
		return resp.failed()
	}
	if json.Unmarshal(resp.body, into) != nil {
		return notHost(errNotJSON)
	}
	return nil
}
