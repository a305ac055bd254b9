package core

import (
	"encoding/json"
	"time"

	"bellhop/protocol"
)

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

	Acts     []ActRecord
	DropAct  string    // id; "": none
	DropActs time.Time // of all sessions, that brokers saw before this; zero: none

	DropTokens    time.Time // expired before this; zero: none
	DropAllTokens bool
	DropSession   bool // everything of SessionID but its acts, instead of all other members
}

// ActRecord is an act that a broker asked for, and how it was answered.
type ActRecord struct {
	SessionID string
	ID        string
	Digest    []byte    // SHA-256 of the request
	Seen      time.Time // by the broker, first
	Status    int       // of the answer; 0: there is none yet
	Answer    []byte
}

// SessionRecord is a session's row.
type SessionRecord struct {
	ID       string
	BrokerID string // "" until the first that names itself
	KeyHash  string // hex SHA-256 of the broker's key, "" until one is bound
	// OwnerKeyHash is the hex SHA-256 of the key of the session's user, "" until the broker sent one.
	OwnerKeyHash string `json:",omitempty"`
	WebhookURL   string // carries a token: never logged
	Basic        bool   // the broker speaks the original contract only
	NamedAnswers bool   `json:",omitempty"` // the broker names itself, and the request, in each of its answers

	Agent          string
	Project        string
	Model          string
	Mode           protocol.PermissionMode
	AgentSessionID string // the agent's own id of its conversation
	Dir            string // the workspace, once an agent was opened
	Secret         string // of programs in the workspace, "" until an agent was opened; never logged

	Incarnation  string          // of the broker's database, that the session was compared with
	AnnouncedRev int64           `json:",omitempty"` // of the task at its newest check-in of this incarnation
	Resend       protocol.Cursor // events up to here go with the prompts of their turns
	Title        string          // of the task, for its adoption
	Owner        string          // the task's user, for its adoption

	Cursor         protocol.Cursor // of the newest event
	Acked          protocol.Cursor // the broker has everything up to here
	OffsetReserved int64           // offsets below may have been used

	Status     protocol.Status
	Reason     string
	Remembered []string // shapes of calls allowed for the rest of the session

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
	MessageID    string // the user's message, "" when the broker did not name it
	Announced    time.Time
	Expires      time.Time // of the last token that may start it
	Started      time.Time
	Finished     time.Time
	FinishReason protocol.FinishReason
	Reason       string // why it finished; of an announced turn: why it was stopped, "" if it was not
	FirstOffset  int64
	LastID       protocol.StreamID
}

// PromptRecord is the prompt of a turn of a broker's session: for an agent without
// a memory, and for a broker that lost the message. Headless sessions have an event
// for it.
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

// Event decodes the event.
func (e *EventRecord) Event() (*protocol.Event, error) {
	var out protocol.Event
	if err := json.Unmarshal(e.Body, &out); err != nil {
		return nil, protocol.Errorf(protocol.CodeInternal, "the journal holds an event that cannot be read")
	}
	return &out, nil
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
	Shape     string   // what a yes for the session covers; only of an open question, not stored
	Offered   *Offered // of the Question; only of an open question, not stored
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

	Credential string // that it was issued to, as the broker named it; "" for none
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

// OutboxState says whether a session's events reach its broker.
type OutboxState string

// Outbox states. A stopped outbox keeps its events for the next /session.
const (
	OutboxOK       OutboxState = "ok"
	OutboxSending  OutboxState = "sending" // shown only: events are under way, and nothing has failed
	OutboxRetrying OutboxState = "retrying"
	OutboxStopped  OutboxState = "stopped" // the task is gone, or another host has taken over
	OutboxUnknown  OutboxState = "unknown" // the broker does not know the task; the events are kept for its adoption
	OutboxNone     OutboxState = "none"    // headless: the events stay in the journal and go to no broker
)

// DeadLetter is an event the broker refused for good; a dropped event went in
// its place.
type DeadLetter struct {
	SessionID string          `json:"sessionId"`
	Cursor    protocol.Cursor `json:"cursor"`
	EventID   string          `json:"eventId"`
	Reason    string          `json:"reason"`
	Body      string          `json:"body"`
	At        time.Time       `json:"at"`
}
