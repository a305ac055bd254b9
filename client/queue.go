package client

import (
	"context"
	"net/url"

	"bellhop/protocol"
)

func queuePath(taskID string) string { return "/api/tasks/" + url.PathEscape(taskID) + "/queue" }

// Queue returns the messages that the broker sends when the task's agent is idle, the next one first.
func (c *Client) Queue(ctx context.Context, taskID string) (*protocol.Queue, error) {
	out := &protocol.Queue{}
	return out, c.call(ctx, "GET", queuePath(taskID), nil, nil, out)
}

// QueueMessage queues a message. With a MessageID the call can be repeated.
func (c *Client) QueueMessage(
	ctx context.Context, taskID string, req *protocol.QueueMessageRequest,
) (*protocol.QueuedMessage, error) {
	out := &protocol.QueuedMessage{}
	return out, c.call(ctx, "POST", queuePath(taskID), nil, req, out)
}

// PauseQueue pauses the queue, or resumes it after a stop or a failed turn.
func (c *Client) PauseQueue(ctx context.Context, taskID string, paused bool) (*protocol.Queue, error) {
	out := &protocol.Queue{}
	return out, c.call(ctx, "PATCH", queuePath(taskID), nil, protocol.QueueChange{Paused: &paused}, out)
}

// RemoveQueued takes a queued message back. CodeConflict: it is being sent, or was sent.
func (c *Client) RemoveQueued(ctx context.Context, taskID, messageID string) error {
	return c.call(ctx, "DELETE", queuePath(taskID)+"/"+url.PathEscape(messageID), nil, nil, nil)
}
