package api

import (
	"context"

	"bellhop/protocol"
)

// diff stores the changes of the task's session as a message. If nothing changed
// since the last diff, it returns that message.
func (a *API) diff(ctx context.Context, req *protocol.TaskIDRequest) (*protocol.DiffResponse, error) {
	if err := requireTaskID(req.TaskID); err != nil {
		return nil, err
	}
	return a.Sessions.Diff(ctx, a.Auth.Caller(ctx).UserID, req.TaskID)
}
