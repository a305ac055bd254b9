package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Export writes a task as Markdown to out; masked replaces secrets. After an error out may have a part of it.
func (c *Client) Export(ctx context.Context, taskID string, masked bool, out io.Writer) error {
	query := url.Values{"masked": {strconv.FormatBool(masked)}}
	u, err := c.endpoint("/api/tasks/"+url.PathEscape(taskID)+"/export", query)
	if err != nil {
		return err
	}
	req, err := c.request(ctx, http.MethodGet, u, nil)
	if err != nil {
		return err
	}
	resp, err := c.api.Do(req)
	if err != nil {
		return noResponse(u, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		raw, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
		if err != nil {
			return noResponse(u, err)
		}
		return responseError(u, resp.StatusCode, raw)
	}
	if _, err := io.Copy(out, resp.Body); err != nil {
		return noResponse(u, err)
	}
	return nil
}
