package api

import (
	"context"

	"bellhop/broker"
	"bellhop/protocol"
)

type listTasksRequest struct {
	Cursor   string           `query:"cursor" json:"-"`
	Limit    int              `query:"limit" json:"-"`
	Q        string           `query:"q" json:"-"`
	Archived *bool            `query:"archived" json:"-"`
	State    broker.TaskState `query:"state" json:"-"`
}

type taskRequest struct {
	ID string `param:"id" json:"-"`
}

// awaitQuery names what the reader saw in a stream. The response waits until the task's rows contain it.
type awaitQuery struct {
	AtLeast *int64 `query:"atLeast" json:"-"`
	Turn    string `query:"turn" json:"-"`
	Wait    string `query:"wait" json:"-"`
}

type getTaskRequest struct {
	ID string `param:"id" json:"-"`
	awaitQuery
}

type updateTaskRequest struct {
	ID string `param:"id" json:"-"`
	broker.TaskPatch
}

type listMessagesRequest struct {
	ID     string `param:"id" json:"-"`
	After  *int64 `query:"after" json:"-"`
	Before *int64 `query:"before" json:"-"`
	Since  *int64 `query:"since" json:"-"`
	Limit  int    `query:"limit" json:"-"`
	With   string `query:"with" json:"-"`
	awaitQuery
}

func (a *API) createTask(ctx context.Context, req *protocol.CreateTaskRequest) (*protocol.Task, error) {
	return a.Tasks.Create(ctx, a.Auth.Caller(ctx), req)
}

func (a *API) listTasks(ctx context.Context, req *listTasksRequest) (*protocol.TaskList, error) {
	return a.Tasks.List(ctx, a.Auth.Caller(ctx).UserID, broker.TaskQuery(*req))
}

func (a *API) getTask(ctx context.Context, req *getTaskRequest) (*protocol.Task, error) {
	return a.Tasks.Get(ctx, a.Auth.Caller(ctx).UserID, req.ID, broker.Await(req.awaitQuery))
}

// taskUsage returns what the closed turns of a task used.
func (a *API) taskUsage(ctx context.Context, req *taskRequest) (*protocol.TaskUsage, error) {
	return a.Tasks.Usage(ctx, a.Auth.Caller(ctx).UserID, req.ID)
}

func (a *API) updateTask(ctx context.Context, req *updateTaskRequest) (*protocol.Task, error) {
	return a.Tasks.Update(ctx, a.Auth.Caller(ctx), req.ID, req.TaskPatch)
}

type deleteTaskRequest struct {
	ID         string `param:"id" json:"-"`
	OnlyCopies string `query:"onlyCopies" json:"-"` // id of the list that may be lost
}

func (a *API) deleteTask(ctx context.Context, req *deleteTaskRequest) (*protocol.TaskDeletion, error) {
	return a.Tasks.Delete(ctx, a.Auth.Caller(ctx).UserID, req.ID, req.OnlyCopies)
}

// onlyCopies returns what deleting the task's workspaces would lose.
func (a *API) onlyCopies(ctx context.Context, req *taskRequest) (*protocol.OnlyCopies, error) {
	return a.Tasks.OnlyCopies(ctx, a.Auth.Caller(ctx).UserID, req.ID)
}

func (a *API) listMessages(ctx context.Context, req *listMessagesRequest) (*protocol.MessageList, error) {
	return a.Tasks.Messages(ctx, a.Auth.Caller(ctx).UserID, req.ID, broker.MessageQuery{
		After: req.After, Before: req.Before, Since: req.Since, Limit: req.Limit,
		Await: broker.Await(req.awaitQuery), With: req.With,
	})
}

func success(err error) (*protocol.SuccessResponse, error) {
	if err != nil {
		return nil, err
	}
	return &protocol.SuccessResponse{Success: true}, nil
}
