package app

import (
	"context"

	"bellhop/broker"
	"bellhop/webhook/outbound"
	"bellhop/webhook/outbound/notification"
)

// taskWebhooks implements broker.Webhooks with outbound's queue: an event reaches webhooks and browsers.
type taskWebhooks struct {
	queue    *outbound.Service
	browsers *notification.Service
}

func (n *notebooks) taskWebhooks() taskWebhooks { return taskWebhooks{n.outbound, n.browsers} }

// Emit implements broker.Webhooks.
func (w taskWebhooks) Emit(ctx context.Context, userID string, event broker.TaskEvent) error {
	if err := w.queue.Emit(ctx, userID, outbound.TaskEvent(event)); err != nil {
		return err
	}
	return w.browsers.Emit(ctx, userID, outbound.TaskEvent(event))
}
