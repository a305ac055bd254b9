package app

import (
	"context"

	"bellhop/broker"
	"bellhop/webhook/outbound"
)

// taskWebhooks implements broker.Webhooks with outbound's queue.
type taskWebhooks struct{ queue *outbound.Service }

// Emit implements broker.Webhooks.
func (w taskWebhooks) Emit(ctx context.Context, userID string, event broker.TaskEvent) error {
	return w.queue.Emit(ctx, userID, outbound.TaskEvent(event))
}
