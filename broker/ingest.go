package broker

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"bellhop/protocol"
)

// Ingest is the one place where events take effect; the webhook and the
// Reconciler are two ways in.
type Ingest struct {
	Store      Store
	Notifier   Notifier
	Reconciler *Reconciler
	Now        func() time.Time
	Log        *slog.Logger
}

// Inbound is an event as it was sent and as it was read.
type Inbound struct {
	Raw   json.RawMessage
	Event *protocol.Event
}

// Secret is the key of a task's webhook tokens. It is CodeNotFound "Task not
// found or not configured"; deleted tasks keep theirs for 48 h.
func (s *Ingest) Secret(ctx context.Context, taskID string) ([]byte, error) { return nil, nil }

// Ingest stores events and their effects in one transaction, all or nothing.
// claimTurn is the turn of the webhook token. Errors are those of protocol
// section 1.4; in a batch Index names the first bad event.
func (s *Ingest) Ingest(ctx context.Context, taskID, claimTurn string, events []Inbound) (*protocol.IngestResponse, error) {
	return nil, nil
}
