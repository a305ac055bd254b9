package client

import (
	"context"
	"net/http"

	"bellhop/protocol"
)

// CheckIn stores a message and gets the key to the host's stream. A failed
// check-in's error carries messageId and turnId in its Fields.
func (c *Client) CheckIn(ctx context.Context, req *protocol.CheckInRequest) (*protocol.CheckInResponse, error) {
	return post[protocol.CheckInResponse](ctx, c, "/api/agent", req)
}

// Attach gets a key that reads, answers and interrupts, but cannot prompt.
func (c *Client) Attach(ctx context.Context, taskID string) (*protocol.AttachResponse, error) {
	return post[protocol.AttachResponse](ctx, c, "/api/agent/attach", protocol.TaskIDRequest{TaskID: taskID})
}

// Diff stores what the task's session has changed as a message, and returns it.
func (c *Client) Diff(ctx context.Context, taskID string) (*protocol.DiffResponse, error) {
	return post[protocol.DiffResponse](ctx, c, "/api/agent/diff", protocol.TaskIDRequest{TaskID: taskID})
}

// Interrupt stops the task's turn; without one it does nothing.
func (c *Client) Interrupt(ctx context.Context, taskID string) error {
	return c.call(ctx, http.MethodPost, "/api/agent/interrupt", nil, protocol.TaskIDRequest{TaskID: taskID}, nil)
}
