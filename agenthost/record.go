package agenthost

import (
	"context"
	"encoding/json"
	"time"

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

// Write is one durable step: rows are inserted or, where they exist, replaced.
type Write struct {
	SessionID string

	Session      *SessionRecord
	Turns        []TurnRecord
	Prompts      []PromptRecord
	Interactions []InteractionRecord
	Tokens       []TokenRecord
	DeadLetters  []DeadLetter

	DropEvents []protocol.Cursor // before Events are inserted
	Events     []EventRecord     // inserted; a known (epoch,seq) is an error

	DropTokens    time.Time // expired before this; zero: none
	DropAllTokens bool
	DropSession   bool // everything of SessionID, instead of all other members
}

// SessionRecord is a session's row.
type SessionRecord struct {
	ID         string
	BrokerID   string // "" until the first that names itself
	WebhookURL string // carries a token: never logged
	Basic      bool   // the broker speaks the original contract only

	Agent   string
	Project string
	Model   string
	Native  string // the agent's own session id
	Dir     string // the workspace, once an agent was opened
	Secret  string // of programs in the workspace, "" until an agent was opened; never logged

	Cursor         protocol.Cursor // of the newest event
	Acked          protocol.Cursor // the broker has everything up to here
	OffsetReserved int64           // offsets below may have been used

	Status     protocol.Status
	Reason     string
	Remembered []string // tools allowed for the rest of the session

	Outbox      OutboxState
	OutboxError string

	CreatedAt time.Time
	ActiveAt  time.Time
}

// TurnState is where a turn stands.
type TurnState string

// Turn states.
const (
	TurnAnnounced TurnState = "announced"
	TurnOpen      TurnState = "open"
	TurnFinished  TurnState = "finished"
)

// TurnRecord is a turn's row. Started is zero for a turn that finished without
// having been started. Offsets are those of its frames; LastOffset is 0 while
// it is open.
type TurnRecord struct {
	SessionID    string
	ID           string
	State        TurnState
	PromptSHA256 string
	Announced    time.Time
	Expires      time.Time // of the last token that may start it
	Started      time.Time
	Finished     time.Time
	FinishReason protocol.FinishReason
	Reason       string
	FirstOffset  int64
	LastID       protocol.StreamID
}

// PromptRecord is what a turn of a broker's session was asked, as far as an agent
// would be told again. Headless sessions have an event for it.
type PromptRecord struct {
	SessionID string
	TurnID    string
	Text      string
}

// EventRecord is an event's row. Body is the event as it is posted. Part is the
// part that announced it, byte for byte, and Frame that part's stream id; both
// are empty for events without a part.
type EventRecord struct {
	SessionID string
	Cursor    protocol.Cursor
	EventID   string
	TurnID    string
	Type      protocol.EventType
	Body      json.RawMessage
	Frame     protocol.StreamID
	Part      []byte
}

// InteractionRecord is a question's row. Question and Answer are JSON.
type InteractionRecord struct {
	SessionID string
	ID        string
	TurnID    string
	Kind      protocol.InteractionKind
	State     protocol.InteractionState
	Question  protocol.Event // the open event: what every later event repeats
	Answer    *protocol.InteractionAnswer
	ExpiresAt time.Time
	CreatedAt time.Time
}

// TokenRecord is a stream token; only its hash is kept.
type TokenRecord struct {
	Hash      []byte
	SessionID string
	TurnID    string
	Attach    bool
	ExpiresAt time.Time
}

// Loaded is a session as the host finds it at its start. LastFrame is the id of
// the last frame of its newest finished turn, zero when there is none.
type Loaded struct {
	Session      SessionRecord
	Turns        []TurnRecord        // announced and open ones
	Interactions []InteractionRecord // open ones
	LastFrame    protocol.StreamID
	Pending      int64
}
