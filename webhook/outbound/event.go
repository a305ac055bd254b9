package outbound

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"bellhop/protocol"
)

// TaskEvent is an event of a task, for the endpoints that its user registered.
type TaskEvent struct {
	// ID is the webhook-id; "" = a new one. Events with the same ID are sent once.
	ID     string
	Type   protocol.WebhookEvent
	TaskID string
	TurnID string
	At     time.Time
	Data   any             // must marshal to JSON
	Args   json.RawMessage // of the tool call that a question is about; not part of the body
}

// taskBody is the body of protocol section 3, "Task webhooks".
type taskBody struct {
	Type      protocol.WebhookEvent `json:"type"`
	TaskID    string                `json:"taskId"`
	TurnID    string                `json:"turnId"`
	Timestamp string                `json:"timestamp"`
	Data      any                   `json:"data"`
}

// Emit enqueues an event for every endpoint of the user that subscribed to its type, inside the
// caller's transaction. The deliveries have no order: an event that the receiver cannot handle
// must not delay a later question.
func (s *Service) Emit(ctx context.Context, userID string, event TaskEvent) error {
	if !slices.Contains(protocol.WebhookEvents(), event.Type) {
		return fmt.Errorf("outbound: %q is no event for task webhooks", event.Type)
	}
	return s.store.Write(ctx, func(ctx context.Context) error {
		endpoints, err := s.store.Endpoints(ctx, userID, KindTask)
		if err != nil {
			return err
		}
		endpoints = slices.DeleteFunc(endpoints, func(e Endpoint) bool {
			return e.Disabled() || !slices.Contains(e.Events, event.Type)
		})
		if len(endpoints) == 0 {
			return nil
		}
		return s.emit(ctx, endpoints, event)
	})
}

func (s *Service) emit(ctx context.Context, endpoints []Endpoint, event TaskEvent) error {
	body, err := protocol.Marshal(taskBody{
		Type: event.Type, TaskID: event.TaskID, TurnID: event.TurnID,
		Timestamp: event.At.UTC().Format(time.RFC3339Nano), Data: event.Data,
	})
	if err != nil {
		return fmt.Errorf("outbound: body of %s: %w", event.Type, err)
	}
	id := event.ID
	if id == "" {
		id = protocol.NewID()
	}
	for i := range endpoints {
		e, sent := &endpoints[i], body
		if e.Format != protocol.FormatBellhop {
			if sent, err = formatted(e, &event, s.linkTo(&event)); err != nil {
				return err
			}
		}
		_, err := s.enqueue(ctx, e, Message{EndpointID: e.ID, MessageID: id, Event: string(event.Type), Body: sent})
		if err != nil {
			return err
		}
	}
	return nil
}
