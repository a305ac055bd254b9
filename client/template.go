package client

import (
	"context"
	"net/url"

	"bellhop/protocol"
)

// Templates returns the templates that the user sees.
func (c *Client) Templates(ctx context.Context) (*protocol.TemplateList, error) {
	return get[protocol.TemplateList](ctx, c, "/api/templates", nil)
}

// FillTemplate returns the prompt of a template with values, and what its task is to be. It creates nothing.
func (c *Client) FillTemplate(
	ctx context.Context, id string, values map[string]string,
) (*protocol.FilledTemplate, error) {
	return post[protocol.FilledTemplate](ctx, c, "/api/templates/"+url.PathEscape(id)+"/fill",
		protocol.FillTemplateRequest{Values: values})
}
