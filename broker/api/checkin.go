package api

import (
	"context"

	"bellhop/protocol"
)

func (a *API) checkIn(ctx context.Context, req *protocol.CheckInRequest) (*protocol.CheckInResponse, error) {
	return a.Sessions.CheckIn(ctx, a.Auth.Caller(ctx).UserID, req)
}

func (a *API) attach(ctx context.Context, req *protocol.AttachRequest) (*protocol.AttachResponse, error) {
	return a.Sessions.Attach(ctx, a.Auth.Caller(ctx).UserID, req)
}

// interrupt is idempotent: for a task without an open turn it returns 200.
func (a *API) interrupt(ctx context.Context, req *protocol.TaskIDRequest) (*protocol.SuccessResponse, error) {
	if err := requireTaskID(req); err != nil {
		return nil, err
	}
	return success(a.Sessions.Interrupt(ctx, a.Auth.Caller(ctx).UserID, req.TaskID))
}

func requireTaskID(req *protocol.TaskIDRequest) error {
	if req.TaskID == "" {
		return protocol.Errorf(protocol.CodeInvalid, "taskId is required")
	}
	return nil
}
