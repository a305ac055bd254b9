package client

import (
	"context"

	"bellhop/protocol"
)

// CheckIn stores a message and returns the token for the host's stream. If it fails, the
// error's Fields have messageId and turnId.
func (c *Client) CheckIn(ctx context.Context, req *protocol.CheckInRequest) (*protocol.CheckInResponse, error) {
	return post[protocol.CheckInResponse](ctx, c, "/api/agent", req)
}

// Attach returns a token that can read, answer and interrupt, but not prompt.
func (c *Client) Attach(ctx context.Context, taskID string) (*protocol.AttachResponse, error) {
	return post[protocol.AttachResponse](ctx, c, "/api/agent/attach", protocol.TaskIDRequest{TaskID: taskID})
}

// Diff stores the changes of the task's workspace as a message and returns it.
func (c *Client) Diff(ctx context.Context, taskID string) (*protocol.DiffResponse, error) {
	return post[protocol.DiffResponse](ctx, c, "/api/agent/diff", protocol.TaskIDRequest{TaskID: taskID})
}

// Restart ends the task's agent program, and with it the open turn. The next turn continues
// the conversation in a new program.
func (c *Client) Restart(ctx context.Context, taskID string) (*protocol.RestartResponse, error) {
	return post[protocol.RestartResponse](ctx, c, "/api/agent/restart", protocol.TaskIDRequest{TaskID: taskID})
}

// Interrupt stops the task's turn; without one it does nothing. If the response has
// CloseStream, the host is basic: it stops when the reader of its stream leaves.
func (c *Client) Interrupt(ctx context.Context, taskID string) (*protocol.InterruptResponse, error) {
	return post[protocol.InterruptResponse](ctx, c, "/api/agent/interrupt", protocol.TaskIDRequest{TaskID: taskID})
}
