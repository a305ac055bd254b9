package protocol

import "encoding/json"

// EventType is the type member of a webhook event.
type EventType string

// The event types of protocol section 1.4. Receivers also store unknown ones.
const (
	EventText        EventType = "text"
	EventToolCall    EventType = "tool-call"
	EventToolResult  EventType = "tool-result"
	EventFinish      EventType = "finish"
	EventStatus      EventType = "status"
	EventInteraction EventType = "interaction"
	EventError       EventType = "error"
	EventDropped     EventType = "dropped"
)

// Event is one persisted fact: the host posts it to the webhook and keeps it in its
// journal. Protocol section 1.4 lists the members of each type; Validate checks
// them. EventID, Epoch, Seq and TurnID are absent in the events of a basic host.
//
// Use ParseEvent to read an Event. json.Unmarshal alone does not check it.
type Event struct {
	SessionID string          `json:"sessionId,omitempty"`
	Type      EventType       `json:"type"`
	EventID   string          `json:"eventId,omitempty"`
	Epoch     int64           `json:"epoch,omitempty"`
	Seq       int64           `json:"seq,omitempty"`
	TurnID    string          `json:"turnId,omitempty"`
	Timestamp json.RawMessage `json:"timestamp,omitempty"` // a JSON number, kept as sent
	// OriginTerminal, or "" for a turn that a prompt to the host began
	Origin string `json:"origin,omitempty"`

	// text
	ID       string          `json:"id,omitempty"`
	Text     *string         `json:"text,omitempty"`
	Format   string          `json:"format,omitempty"`   // as the agent sent it, such as markdown
	Metadata json.RawMessage `json:"metadata,omitempty"` // an object of the agent, as it sent it

	// tool-call, tool-result, interaction
	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
	Denied     bool            `json:"denied,omitempty"`
	Truncated  bool            `json:"truncated,omitempty"` // the host shortened input or output

	// finish; status and dropped use Reason too
	FinishReason FinishReason    `json:"finishReason,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	TotalUsage   json.RawMessage `json:"totalUsage,omitempty"`

	// status
	Status Status `json:"status,omitempty"`

	// interaction
	InteractionID string             `json:"interactionId,omitempty"`
	State         InteractionState   `json:"state,omitempty"`
	Kind          InteractionKind    `json:"kind,omitempty"`
	Prompt        string             `json:"prompt,omitempty"`
	Args          json.RawMessage    `json:"args,omitempty"`
	Level         string             `json:"level,omitempty"`
	Warning       string             `json:"warning,omitempty"` // the danger of the call, beside Level
	Default       string             `json:"default,omitempty"`
	Options       []string           `json:"options,omitempty"`
	ExpiresAt     string             `json:"expiresAt,omitempty"`
	Answer        *InteractionAnswer `json:"answer,omitempty"`

	// error
	Message string `json:"message,omitempty"`
	Code    string `json:"code,omitempty"`
}

// OriginTerminal is the Origin of the events of a turn that a user made in the agent's own
// terminal client. Such a turn is reported when it is over.
const OriginTerminal = "terminal"

// FinishReason describes how a turn ended. The event's reason has the details.
type FinishReason string

// Finish reasons. The AI SDK has no others.
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishContentFilter FinishReason = "content-filter"
	FinishToolCalls     FinishReason = "tool-calls"
	FinishError         FinishReason = "error"
	FinishOther         FinishReason = "other"
)

// FinishReasons lists all of them.
var FinishReasons = []FinishReason{
	FinishStop, FinishLength, FinishContentFilter, FinishToolCalls, FinishError, FinishOther,
}

// TurnReason is the reason of a finish event that Bellhop itself sends. Agents give
// reasons in words of their own.
type TurnReason = string

// Turn reasons.
const (
	ReasonAborted        TurnReason = "aborted"         // the user interrupted
	ReasonHostRestarted  TurnReason = "host-restarted"  // the host crashed or stopped during the turn
	ReasonNotStarted     TurnReason = "not-started"     // announced, never prompted: replaced, or its tokens have expired
	ReasonHostLost       TurnReason = "host-lost"       // closed by the broker, because the host does not have the turn
	ReasonAgentExited    TurnReason = "agent-exited"    // the agent program exited during the turn
	ReasonAgentRestarted TurnReason = "agent-restarted" // a person restarted the agent program
	ReasonAgentStopped   TurnReason = "agent-stopped"   // the operator stopped the agents of the project
)

// Status is the activity of an agent.
type Status string

// StatusReason says why the status is StatusIdle while something goes on.
type StatusReason = string

// Statuses and their reasons.
const (
	StatusNone Status = "none" // no program has been started
	StatusIdle Status = "idle"
	StatusBusy Status = "busy"

	ReasonNone     StatusReason = ""         // nothing goes on, or the status is another
	ReasonWaiting  StatusReason = "waiting"  // a question to the user is open, or a basic host is silent behind its answer
	ReasonChecking StatusReason = "checking" // the connection to the agent is lost, with a question open
	ReasonTerminal StatusReason = "terminal" // a program in a user's terminal works in the session's workspace
)

// InteractionKind distinguishes a permission from a free question.
type InteractionKind string

// InteractionState is the state of a question to the user.
type InteractionState string

// Interaction kinds and states. resolved and expired are final.
const (
	KindConfirm InteractionKind = "confirm"
	KindAsk     InteractionKind = "ask"

	InteractionOpen     InteractionState = "open"
	InteractionResolved InteractionState = "resolved"
	InteractionExpired  InteractionState = "expired"
)

// InteractionAnswer is the user's answer: Approved for confirm, Text for ask.
type InteractionAnswer struct {
	Approved *bool  `json:"approved,omitempty"`
	Text     string `json:"text,omitempty"`
	Reason   string `json:"reason,omitempty"`

	// Remembered is the shape of the calls of the session that a yes also covers.
	Remembered string `json:"remembered,omitempty"`
	// By says who answered: the broker's id of the user, "stream-token" for a holder of
	// such a token, "local" on the host's own machine. It is "" if no user answered: a
	// rule decided, or the turn ended with the question open. Then Reason says so.
	By string `json:"by,omitempty"`
}

// Values of By for answers that do not come from the broker.
const (
	ByStreamToken = "stream-token"
	ByLocal       = "local"
)
