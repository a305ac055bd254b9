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

// interrupt is idempotent: for a turn that is over, and a task without an open turn, it returns 200.
func (a *API) interrupt(ctx context.Context, req *protocol.InterruptRequest) (*protocol.InterruptResponse, error) {
	if err := requireTaskID(req.TaskID); err != nil {
		return nil, err
	}
	return a.Sessions.Interrupt(ctx, a.Auth.Caller(ctx).UserID, req.TaskID, req.TurnID)
}

// restart takes an Idempotency-Key: a copy of its request ends no later turn. An agent that does not run returns 200.
func (a *API) restart(ctx context.Context, req *protocol.TaskIDRequest) (*protocol.RestartResponse, error) {
	if err := requireTaskID(req.TaskID); err != nil {
		return nil, err
	}
	return a.Sessions.Restart(ctx, a.Auth.Caller(ctx).UserID, req.TaskID)
}

// finish is idempotent: for a turn that has ended it returns 200.
func (a *API) finish(ctx context.Context, req *protocol.FinishTurnRequest) (*protocol.SuccessResponse, error) {
	return success(a.Sessions.Finish(ctx, a.Auth.Caller(ctx).UserID, req))
}

func requireTaskID(taskID string) error {
	if taskID == "" {
		return protocol.Errorf(protocol.CodeInvalid, "taskId is required")
	}
	return nil
}
