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
func (a *API) interrupt(ctx context.Context, req *protocol.TaskIDRequest) (*protocol.InterruptResponse, error) {
	if err := requireTaskID(req); err != nil {
		return nil, err
	}
	return a.Sessions.Interrupt(ctx, a.Auth.Caller(ctx).UserID, req.TaskID)
}

// restart is idempotent: an agent that does not run returns 200.
func (a *API) restart(ctx context.Context, req *protocol.TaskIDRequest) (*protocol.RestartResponse, error) {
	if err := requireTaskID(req); err != nil {
		return nil, err
	}
	return a.Sessions.Restart(ctx, a.Auth.Caller(ctx).UserID, req.TaskID)
}

// finish is idempotent: for a turn that has ended it returns 200.
func (a *API) finish(ctx context.Context, req *protocol.FinishTurnRequest) (*protocol.SuccessResponse, error) {
	return success(a.Sessions.Finish(ctx, a.Auth.Caller(ctx).UserID, req))
}

func requireTaskID(req *protocol.TaskIDRequest) error {
	if req.TaskID == "" {
		return protocol.Errorf(protocol.CodeInvalid, "taskId is required")
	}
	return nil
}
