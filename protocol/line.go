package protocol

import "encoding/json"

// Line is one message of the headless interface (protocol section 4): one JSON
// object per line on stdio, one text message on a WebSocket. One struct has the
// members of all types; absent ones are not written.
type Line struct {
	Type      string `json:"type"`
	SessionID string `json:"session_id,omitempty"`

	Level   string `json:"level,omitempty"`   // status
	Message string `json:"message,omitempty"` // status

	Content  *string         `json:"content,omitempty"` // chunk, tool_message, message
	Format   string          `json:"format,omitempty"`  // message
	Metadata json.RawMessage `json:"metadata,omitempty"`

	ID        string          `json:"id,omitempty"` // tool_start, tool_message
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`

	RequestID       string           `json:"request_id,omitempty"` // ask, confirm, answer, confirmation
	Prompt          string           `json:"prompt,omitempty"`
	Default         string           `json:"default,omitempty"`
	ToolName        string           `json:"tool_name,omitempty"`
	Args            json.RawMessage  `json:"args,omitempty"`
	SecurityWarning *SecurityWarning `json:"security_warning,omitempty"`

	State  string `json:"state,omitempty"`  // state
	Reason string `json:"reason,omitempty"` // state, confirmation

	Text        *string      `json:"text,omitempty"` // input, answer
	Attachments []Attachment `json:"attachments,omitempty"`
	Value       *bool        `json:"value,omitempty"` // confirmation
	Remember    string       `json:"remember,omitempty"`
}

// SecurityWarning describes the danger of a confirmed call.
type SecurityWarning struct {
	Level   string `json:"level"` // INFO, WARN or CRITICAL
	Message string `json:"message"`
}

// Line types, agent → client.
const (
	LineStatus      = "status"
	LineChunk       = "chunk"
	LineToolStart   = "tool_start"
	LineToolMessage = "tool_message"
	LineAsk         = "ask"
	LineConfirm     = "confirm"
	LineState       = "state"
	LineMessage     = "message"
)

// Line types, client → agent.
const (
	LineInput        = "input"
	LineAnswer       = "answer"
	LineConfirmation = "confirmation"
	LineInterrupt    = "interrupt"
)

// States of a state line. StateWaitingForInput comes exactly once per input, at the
// end of its turn.
const (
	StateThinking        = "thinking"
	StateExecutingTool   = "executing_tool"
	StateWaitingForInput = "waiting_for_input"
)

// Reasons of a waiting_for_input line.
const (
	WaitingDone        = "done"
	WaitingInterrupted = "interrupted"
	WaitingError       = "error"
)
