package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"bellhop/protocol"
)

// Webhooks queues events for the webhooks that a user registered.
type Webhooks interface {
	// Emit joins the transaction of ctx, so the event is queued only if that
	// transaction commits. An event with the ID of an earlier one is dropped.
	Emit(ctx context.Context, userID string, event TaskEvent) error
}

// TaskEvent is an event for a user's webhooks (protocol section 3).
type TaskEvent struct {
	ID     string // the same for a repeated report of the same fact
	Type   protocol.WebhookEvent
	TaskID string
	TurnID string
	At     time.Time
	Data   any             // marshals to a JSON object
	Args   json.RawMessage // of the tool call that a question is about; webhooks do not get it
}

// TurnFinished is the data of a webhook about a turn that ended.
type TurnFinished struct {
	Title        string                `json:"title"`
	FinishReason protocol.FinishReason `json:"finishReason"`
	Reason       string                `json:"reason"`
	Usage        json.RawMessage       `json:"usage"`
}

// InteractionOpened is the data of a webhook about a question to the user.
type InteractionOpened struct {
	Title         string                   `json:"title"`
	InteractionID string                   `json:"interactionId"`
	Kind          protocol.InteractionKind `json:"kind"`
	Prompt        string                   `json:"prompt"`
	ToolName      string                   `json:"toolName,omitempty"`
	Level         string                   `json:"level,omitempty"`
	Warning       string                   `json:"warning,omitempty"`
	Options       []string                 `json:"options,omitempty"`
	ExpiresAt     string                   `json:"expiresAt,omitempty"`
}

// taskEvents derives the events of a batch from its rows, whatever caused the
// change: an event of the host, a reconciliation or a time limit. A row that is
// written again yields the same event again.
func taskEvents(b *Batch) []TaskEvent {
	var events []TaskEvent
	for i := range b.Turns {
		t := &b.Turns[i]
		if t.State != TurnClosed || t.FinishedAt == nil {
			continue
		}
		events = append(events, TaskEvent{
			ID: taskEventID(protocol.WebhookTurnFinished, b.Task.ID, t.ID), Type: protocol.WebhookTurnFinished,
			TaskID: b.Task.ID, TurnID: t.ID, At: *t.FinishedAt,
			Data: TurnFinished{Title: b.Task.Title, FinishReason: t.FinishReason, Reason: t.Reason, Usage: nullIfEmpty(t.Usage)},
		})
	}
	for i := range b.Interactions {
		q := &b.Interactions[i]
		if q.State != protocol.InteractionOpen {
			continue
		}
		events = append(events, TaskEvent{
			ID: taskEventID(protocol.WebhookInteractionOpened, b.Task.ID, q.ID), Type: protocol.WebhookInteractionOpened,
			TaskID: b.Task.ID, TurnID: q.TurnID, At: q.CreatedAt, Args: q.Args,
			Data: InteractionOpened{
				Title: b.Task.Title, InteractionID: q.ID, Kind: q.Kind, Prompt: q.Prompt, ToolName: q.ToolName,
				Level: q.Level, Warning: q.Warning, Options: q.Options, ExpiresAt: q.ExpiresAt,
			},
		})
	}
	return events
}

func nullIfEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// taskEventID hashes the ids, because a host's ids may contain characters that a
// webhook-id must not.
func taskEventID(kind protocol.WebhookEvent, taskID, id string) string {
	sum := sha256.Sum256([]byte(string(kind) + "\x00" + taskID + "\x00" + id))
	return "evt_" + hex.EncodeToString(sum[:16])
}
