package core

import (
	"time"

	"bellhop/protocol"
)

// State is all that decides about a session. Copies share memory, and no step
// changes what a copy shows.
type State struct {
	ID      string
	Record  SessionRecord
	Durable bool // its row is written
	Deleted bool

	Next int64             // offset of the next frame
	Last protocol.StreamID // of the newest frame, or what stands for it; NoFrame: unknown

	Announced *TurnRecord         // announced and not started
	Turn      *Turn               // started and not finished
	Queue     []Queued            // turns that wait for the open one
	Questions []InteractionRecord // open ones, in the order they were asked

	AttachedUntil time.Time // a terminal client counts as open until then

	Pending  int64 // events the broker has not acknowledged
	Delivery Delivery
}

// NoFrame equals no id that a frame ever has.
var NoFrame = protocol.StreamID{Epoch: -1, Offset: -1}

// New is the state of a session that has no row yet.
func New(id string) State {
	return State{ID: id, Next: 1, Delivery: Delivery{Limit: protocol.MaxWebhookEvents}}
}

// Attached reports whether a terminal client of the agent is open.
func (s *State) Attached(now time.Time) bool { return now.Before(s.AttachedUntil) }

// OpenTurn is the id of the started, unfinished turn; "" when idle.
func (s *State) OpenTurn() string {
	if s.Turn == nil {
		return ""
	}
	return s.Turn.Record.ID
}

// Outbox is what /status shows: ok only when the broker has all events.
func (s *State) Outbox() OutboxState {
	if s.Record.Outbox == OutboxOK && s.Pending > 0 {
		return OutboxSending
	}
	return s.Record.Outbox
}

// Headless reports whether the session belongs to no broker.
func (s *State) Headless() bool { return s.Record.Outbox == OutboxNone }

// Name turns an id or name of an agent into one that every broker accepts.
func Name(name, otherwise string) string {
	name = protocol.CutText(protocol.SanitizeText(name), protocol.MaxID)
	if name == "" {
		return otherwise
	}
	return name
}

func errNotFound() error {
	return &protocol.Error{Code: protocol.CodeNotFound, Message: "Session not found"}
}

func errNoTurn(message string) error {
	return &protocol.Error{Code: protocol.CodeNoTurn, Message: message, Hint: "Check in for a new turn"}
}
