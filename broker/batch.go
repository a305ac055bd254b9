package broker

import (
	"encoding/json"
	"errors"
	"time"

	"bellhop/protocol"
)

// ErrTaken says that an event's id or (epoch,seq) is already stored.
var ErrTaken = errors.New("an event of that id or position is already stored")

// Message is a row a user sees. Tool rows have a ToolCallID and a Phase.
type Message struct {
	protocol.Message
	ToolCallID string
	Phase      ToolPhase
	BodyHash   string // of a user's message: what it must be when its id comes again
}

// ToolPhase says which halves of a tool use have come.
type ToolPhase string

// Tool phases.
const (
	PhaseNone   ToolPhase = ""
	PhaseCall   ToolPhase = "call"
	PhaseResult ToolPhase = "result"
	PhaseBoth   ToolPhase = "both"
)

// StoredEvent is an event as it is kept: the body as it was sent, and a digest
// of its canonical form without sessionId.
type StoredEvent struct {
	TaskID     string
	EventID    string
	Epoch, Seq int64 // 0 = none
	TurnID     string
	Type       protocol.EventType
	Body       json.RawMessage
	Digest     string
	Late       bool // of an epoch that was over: kept without effects
	ReceivedAt time.Time
}

// AuditEntry notes a refused event.
type AuditEntry struct {
	ID      string
	TaskID  string
	What    string
	EventID string
	Body    json.RawMessage
	At      time.Time
}

// Batch is the outcome of a use case on one locked task.
type Batch struct {
	Task            *Task // with its new rev
	Events          []StoredEvent
	NewMessages     []Message
	ChangedMessages []Message
	Turns           []Turn        // inserted or replaced
	Interactions    []Interaction // inserted or replaced
	Changes         []ChangeRef
}
