package protocol

import "encoding/json"

// Line is one message of the headless interface (protocol section 4): one JSON
// object per line on stdio, one text message on a WebSocket. One struct has the
// members of all types; absent ones are not written.
type Line struct {
	Type      string `json:"type"`
	SessionID string `json:"session_id,omitempty"`

	Timestamp json.RawMessage `json:"timestamp,omitempty"` // when the line was made: milliseconds since 1970

	Level   string `json:"level,omitempty"`   // status
	Message string `json:"message,omitempty"` // status
	Code    Code   `json:"code,omitempty"`    // status: of an error that answers a line
	Command string `json:"command,omitempty"` // status: the type of that line, "" if it has none

	Version string   `json:"version,omitempty"` // hello
	Tools   []string `json:"tools,omitempty"`   // hello: names, if they are known

	By string `json:"by,omitempty"` // resolved: who answered

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
	Force       bool         `json:"force,omitempty"` // input: as in PromptRequest
	Value       *bool        `json:"value,omitempty"` // confirmation
	Remember    string       `json:"remember,omitempty"`
}

// SecurityWarning describes the danger of a confirmed call.
type SecurityWarning struct {
	Level   string `json:"level"` // INFO, WARN or CRITICAL
	Message string `json:"message"`
}

// EndsTurn reports whether the line is the last one of a turn.
func (l *Line) EndsTurn() bool {
	return l.Type == LineState && l.State == StateWaitingForInput && l.Reason != WaitingAsked
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
	LineHello       = "hello"    // a session opens
	LineResolved    = "resolved" // a question is no longer open
)

// Values of By for questions that no user answered.
const (
	ByTimeout   = "timeout"
	ByInterrupt = "interrupt" // the turn was interrupted or ended, or the agent withdrew the question
)

// RefusalLine is the error that answers a client's line; the line is nil if it could not be
// read.
func RefusalLine(sessionID string, err error, message string, line *Line) Line {
	refusal := Line{Type: LineStatus, SessionID: sessionID, Level: "error", Message: message, Code: CodeOf(err)}
	if line != nil {
		refusal.Command, refusal.RequestID = line.Type, line.RequestID
	}
	return refusal
}

// Named returns the line with its attachments' data left out.
func (l Line) Named() Line {
	named := make([]Attachment, len(l.Attachments))
	for i, a := range l.Attachments {
		a.Data = ""
		named[i] = a
	}
	if l.Attachments = nil; len(named) > 0 {
		l.Attachments = named
	}
	return l
}

// Line types, client → agent.
const (
	LineInput        = "input"
	LineAnswer       = "answer"
	LineConfirmation = "confirmation"
	LineInterrupt    = "interrupt"
)

// States of a state line. StateWaitingForInput comes exactly once per input, at the
// end of its turn; with the reason WaitingAsked it comes while a question is open.
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
	WaitingAsked       = "asked" // a question is open: the turn goes on after its answer
)
