package broker

import (
	"encoding/json"
	"errors"
	"time"

	"bellhop/protocol"
)

// ErrTaken means that an event's id or (epoch,seq) is already stored.
var ErrTaken = errors.New("an event of that id or position is already stored")

// Message is a row that users see. Tool rows have a ToolCallID and a Phase.
type Message struct {
	protocol.Message
	ToolCallID string
	Phase      ToolPhase
	BodyHash   string // of a user's message: a repeated check-in of its id must have the same
}

// ToolPhase names the halves of a tool use that have arrived.
type ToolPhase string

// Tool phases.
const (
	PhaseNone   ToolPhase = ""
	PhaseCall   ToolPhase = "call"
	PhaseResult ToolPhase = "result"
	PhaseBoth   ToolPhase = "both"
)

// StoredEvent is a stored event: the body as it was sent, and a digest of its
// canonical form without sessionId.
type StoredEvent struct {
	TaskID     string
	EventID    string
	Epoch, Seq int64 // 0 = none
	TurnID     string
	Type       protocol.EventType
	Body       json.RawMessage
	Digest     string
	Late       bool // its epoch was over: stored without effects
	ReceivedAt time.Time
}

// AuditEntry records a refused event.
type AuditEntry struct {
	ID      string
	TaskID  string
	What    string
	EventID string
	Body    json.RawMessage
	At      time.Time
}

// Batch is all that a use case writes of one locked task.
type Batch struct {
	Task            *Task // with its new rev
	Events          []StoredEvent
	NewMessages     []Message
	ChangedMessages []Message
	Turns           []Turn        // inserted or replaced
	Interactions    []Interaction // inserted or replaced
	Changes         []ChangeRef
}
