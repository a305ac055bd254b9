package api

import (
	"context"

	"bellhop/protocol"
)

type addQueuedRequest struct {
	ID string `param:"id" json:"-"`
	protocol.QueueMessageRequest
}

type changeQueueRequest struct {
	ID string `param:"id" json:"-"`
	protocol.QueueChange
}

type queuedRequest struct {
	ID        string `param:"id" json:"-"`
	MessageID string `param:"messageId" json:"-"`
}

type changeQueuedRequest struct {
	ID       string `param:"id" json:"-"`
	QueuedID string `param:"messageId" json:"-"`
	protocol.QueuedMessageChange
}

func (a *API) listQueue(ctx context.Context, req *taskRequest) (*protocol.Queue, error) {
	return a.Queue.List(ctx, a.Auth.Caller(ctx).UserID, req.ID)
}

func (a *API) addQueued(ctx context.Context, req *addQueuedRequest) (*protocol.QueuedMessage, error) {
	return a.Queue.Add(ctx, a.Auth.Caller(ctx).UserID, req.ID, &req.QueueMessageRequest)
}

func (a *API) changeQueue(ctx context.Context, req *changeQueueRequest) (*protocol.Queue, error) {
	return a.Queue.SetPaused(ctx, a.Auth.Caller(ctx).UserID, req.ID, req.QueueChange)
}

func (a *API) changeQueued(ctx context.Context, req *changeQueuedRequest) (*protocol.QueuedMessage, error) {
	return a.Queue.Change(ctx, a.Auth.Caller(ctx).UserID, req.ID, req.QueuedID, req.QueuedMessageChange)
}

func (a *API) removeQueued(ctx context.Context, req *queuedRequest) (*protocol.SuccessResponse, error) {
	return success(a.Queue.Remove(ctx, a.Auth.Caller(ctx).UserID, req.ID, req.MessageID))
}

func (a *API) sendQueued(ctx context.Context, req *queuedRequest) (*protocol.QueuedMessage, error) {
	return a.Queue.SendNow(ctx, a.Auth.Caller(ctx).UserID, req.ID, req.MessageID)
}
