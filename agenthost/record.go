package agenthost

import (
	"context"

	"bellhop/agenthost/core"
	"bellhop/protocol"
)

// Journal is a host's durable memory; agenthost/journal implements it. Errors
// of a full disk have CodeStorageFull.
type Journal interface {
	// Write makes all of w durable, or nothing of it. It returns when it is on
	// disk. Concurrent writes share a commit; one that fails fails alone. It is
	// not cancelled once begun.
	Write(ctx context.Context, w *Write) error

	// Load returns every session, for the start of a host.
	Load(ctx context.Context) ([]Loaded, error)

	// Turn and Interaction answer CodeNotFound when there is none.
	Turn(ctx context.Context, sessionID, turnID string) (*TurnRecord, error)
	Interaction(ctx context.Context, sessionID, interactionID string) (*InteractionRecord, error)
	// TurnsFrom returns the started turns of a session, ascending, beginning with
	// the one that held offset, or with the newest for -1. Empty when no turn
	// began at or before offset.
	TurnsFrom(ctx context.Context, sessionID string, offset int64) ([]TurnRecord, error)
	// TurnEvents returns a turn's events that have a part, ascending by offset.
	TurnEvents(ctx context.Context, sessionID, turnID string) ([]EventRecord, error)

	// Events returns events of one epoch with a seq above after.
	Events(ctx context.Context, sessionID string, epoch, after int64, limit int) ([]EventRecord, error)
	// Pending returns events after the cursor, over all epochs, ascending.
	Pending(ctx context.Context, sessionID string, after protocol.Cursor, limit int) ([]EventRecord, error)
	// Newest returns events before the cursor, descending, over all epochs.
	Newest(ctx context.Context, sessionID string, before protocol.Cursor, limit int) ([]EventRecord, error)
	// Prompt returns what a turn was asked, "" when that was not kept.
	Prompt(ctx context.Context, sessionID, turnID string) (string, error)
	CountPending(ctx context.Context, sessionID string, after protocol.Cursor) (int64, error)

	// Token answers CodeUnauthorized for an unknown hash.
	Token(ctx context.Context, hash []byte) (*TokenRecord, error)
	DeadLetters(ctx context.Context, limit int) ([]DeadLetter, error)
	// Notices tell of journals that were found damaged and set aside.
	Notices() []string
}

// Rows and records of the journal, see package core.
type (
	Write             = core.Write
	SessionRecord     = core.SessionRecord
	TurnRecord        = core.TurnRecord
	TurnState         = core.TurnState
	PromptRecord      = core.PromptRecord
	EventRecord       = core.EventRecord
	InteractionRecord = core.InteractionRecord
	TokenRecord       = core.TokenRecord
	Loaded            = core.Loaded
	DeadLetter        = core.DeadLetter
	OutboxState       = core.OutboxState
)

// Turn states.
const (
	TurnAnnounced = core.TurnAnnounced
	TurnOpen      = core.TurnOpen
	TurnFinished  = core.TurnFinished
)

// Outbox states.
const (
	OutboxOK       = core.OutboxOK
	OutboxRetrying = core.OutboxRetrying
	OutboxStopped  = core.OutboxStopped
	OutboxUnknown  = core.OutboxUnknown
	OutboxNone     = core.OutboxNone
)
