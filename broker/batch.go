package broker

import (
	"encoding/json"
	"errors"
	"time"

	"bellhop/protocol"
)

// ErrTaken means that an event with the same id or the same (epoch,seq) is already
// stored.
var ErrTaken = errors.New("an event of that id or position is already stored")

// Message is a row that users see. Only rows of tool uses have a ToolCallID and a
// Phase.
type Message struct {
	protocol.Message
	ToolCallID string
	Phase      ToolPhase
	BodyHash   string // for a user's message; a repeated check-in with its id must have the same hash
}

// ToolPhase records which halves of a tool use have arrived: the call, the result
// or both.
type ToolPhase string

// Tool phases.
const (
	PhaseNone   ToolPhase = ""
	PhaseCall   ToolPhase = "call"
	PhaseResult ToolPhase = "result"
	PhaseBoth   ToolPhase = "both"
)

// StoredEvent is an event as the host sent it.
type StoredEvent struct {
	TaskID     string
	EventID    string
	Epoch, Seq int64 // 0 means the host sent none
	TurnID     string
	Type       protocol.EventType
	Body       json.RawMessage
	Late       bool // sent after its epoch had ended: stored without effects
	ReceivedAt time.Time
}

// RefusedEvent is an event that was not accepted. It is stored so that an operator can find out why.
type RefusedEvent struct {
	ID      string
	TaskID  string
	What    string // the code of the refusal
	EventID string
	Body    json.RawMessage
	At      time.Time
}

// Batch holds all rows that a use case writes for one locked task. An event and its
// new message (Message.EventID) become one row; a text event's message has the text
// of the event's body.
type Batch struct {
	Task            *Task // with its new rev
	Events          []StoredEvent
	MovedEvents     []StoredEvent // known ones, with their new position
	NewMessages     []Message
	ChangedMessages []Message
	Turns           []Turn        // inserted or replaced
	Interactions    []Interaction // inserted or replaced
	Changes         []ChangeRef
	Audit           []protocol.AuditEntry
}
