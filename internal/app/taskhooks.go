package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"bellhop/broker"
	"bellhop/protocol"
	"bellhop/webhook/outbound"
)

// hookedStore tells users' own webhooks what happens to their tasks, in the
// transaction in which it happens. Whatever closes a turn or asks a question
// (an event, reconciliation, a time limit) passes here.
type hookedStore struct {
	broker.Store
	hooks *outbound.Service
}

// Apply implements broker.Store.
func (s hookedStore) Apply(ctx context.Context, b *broker.Batch) error {
	events := taskEvents(b)
	if len(events) == 0 {
		return s.Store.Apply(ctx, b)
	}
	return s.Write(ctx, func(ctx context.Context) error {
		if err := s.Store.Apply(ctx, b); err != nil {
			return err
		}
		for _, event := range events {
			if err := s.hooks.Emit(ctx, b.Task.UserID, event); err != nil {
				return err
			}
		}
		return nil
	})
}

type turnFinished struct {
	Title        string                `json:"title"`
	FinishReason protocol.FinishReason `json:"finishReason"`
	Reason       string                `json:"reason"`
	Usage        json.RawMessage       `json:"usage"`
}

type interactionOpened struct {
	Title         string                   `json:"title"`
	InteractionID string                   `json:"interactionId"`
	Kind          protocol.InteractionKind `json:"kind"`
	Prompt        string                   `json:"prompt"`
	ToolName      string                   `json:"toolName,omitempty"`
	Level         string                   `json:"level,omitempty"`
	Options       []string                 `json:"options,omitempty"`
	ExpiresAt     string                   `json:"expiresAt,omitempty"`
}

// taskEvents are what a batch means to webhooks. A row that is written again
// makes the same event again, which is sent once.
func taskEvents(b *broker.Batch) []outbound.TaskEvent {
	var events []outbound.TaskEvent
	for i := range b.Turns {
		t := &b.Turns[i]
		if t.State != broker.TurnClosed || t.FinishedAt == nil {
			continue
		}
		events = append(events, outbound.TaskEvent{
			ID: eventID(outbound.EventTurnFinished, b.Task.ID, t.ID), Type: outbound.EventTurnFinished,
			TaskID: b.Task.ID, TurnID: t.ID, At: *t.FinishedAt,
			Data: turnFinished{Title: b.Task.Title, FinishReason: t.FinishReason, Reason: t.Reason, Usage: orNull(t.Usage)},
		})
	}
	for i := range b.Interactions {
		q := &b.Interactions[i]
		if q.State != protocol.InteractionOpen {
			continue
		}
		events = append(events, outbound.TaskEvent{
			ID: eventID(outbound.EventInteractionOpened, b.Task.ID, q.ID), Type: outbound.EventInteractionOpened,
			TaskID: b.Task.ID, TurnID: q.TurnID, At: q.CreatedAt,
			Data: interactionOpened{
				Title: b.Task.Title, InteractionID: q.ID, Kind: q.Kind, Prompt: q.Prompt, ToolName: q.ToolName,
				Level: q.Level, Options: q.Options, ExpiresAt: q.ExpiresAt,
			},
		})
	}
	return events
}

// eventID is the same for the same fact. Ids of hosts may hold what a webhook-id
// cannot.
func eventID(kind, taskID, id string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + taskID + "\x00" + id))
	return "evt_" + hex.EncodeToString(sum[:16])
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}
