package protocol

import (
	"encoding/json"
	"time"
)

// CheckInRequest is the body of POST /api/agent, which stores a message and
// starts its turn. A basic frontend sends TaskID and Message only. MessageID
// (1–128 characters, unique per task) makes the request idempotent.
type CheckInRequest struct {
	TaskID     string          `json:"taskId"`
	Message    string          `json:"message"`
	Artifacts  []ArtifactInput `json:"artifacts,omitempty"`
	MessageID  string          `json:"messageId,omitempty"`
	BindPrompt bool            `json:"bindPrompt,omitempty"`
	// ReachRelay: stream through the broker, even if the host is direct
	Reach Reach `json:"reach,omitempty"`

	PermissionMode PermissionMode `json:"permissionMode,omitempty"` // of the session from now on; "" keeps it
}

// Reach describes how browsers reach an agent host's streams.
type Reach string

// Reaches. Direct is the default. With a relay the broker forwards every frame.
const (
	ReachDirect Reach = "direct"
	ReachRelay  Reach = "relay"
)

// ArtifactInput is a piece of content a user attaches to a message.
type ArtifactInput struct {
	Type    string          `json:"type"` // [A-Z][A-Z0-9_]{0,31}, not TOOL_USE or DIFF
	Content json.RawMessage `json:"content,omitempty"`
}

// Artifact types that only Bellhop itself makes.
const (
	ArtifactToolUse = "TOOL_USE"
	ArtifactDiff    = "DIFF"
)

// CheckInResponse is the response to a check-in. A basic frontend reads its first
// four members.
type CheckInResponse struct {
	Success     bool      `json:"success"`
	SessionID   string    `json:"sessionId"`
	StreamToken string    `json:"streamToken"`
	StreamURL   string    `json:"streamUrl"`
	MessageID   string    `json:"messageId"`
	TurnID      string    `json:"turnId"`
	ExpiresAt   time.Time `json:"expiresAt"`
	Reach       Reach     `json:"reach,omitempty"` // ReachRelay if StreamURL is on the broker

	// Capabilities are those of the host. A basic host has none: it takes the stream
	// token in the query only, and the frontend reports the end of the turn.
	Capabilities []string `json:"capabilities,omitempty"`
}

// FinishTurnRequest is the body of POST /api/agent/finish: the end of a turn of a basic
// host, as a frontend read it in the stream. An empty FinishReason is FinishStop.
type FinishTurnRequest struct {
	TaskID       string       `json:"taskId"`
	TurnID       string       `json:"turnId"`
	FinishReason FinishReason `json:"finishReason,omitempty"`
	Reason       string       `json:"reason,omitempty"`
}

// InterruptResponse is the broker's response to POST /api/agent/interrupt. CloseStream
// means that the host is basic: it stops when the reader of its stream disconnects.
type InterruptResponse struct {
	Success     bool `json:"success"`
	CloseStream bool `json:"closeStream,omitempty"`
}

// RestartResponse is the response to POST /api/agent/restart, and to POST
// /session/:id/restart on the agent host. EndedTurn is the turn that was open, "" for none.
type RestartResponse struct {
	Success   bool   `json:"success"`
	SessionID string `json:"sessionId"`
	EndedTurn string `json:"endedTurn"`
}

// InterruptRequest is the body of POST /api/agent/interrupt. TurnID is the only turn to stop; "": the one that is open.
type InterruptRequest struct {
	TaskID string `json:"taskId"`
	TurnID string `json:"turnId,omitempty"`
}

// TaskIDRequest is the body of POST /api/agent/interrupt, /api/agent/restart and /api/agent/diff.
type TaskIDRequest struct {
	TaskID string `json:"taskId"`
}

// AttachRequest is the body of POST /api/agent/attach, which opens the stream of a
// task without a message. Reach works as in a check-in.
type AttachRequest struct {
	TaskID string `json:"taskId"`
	Reach  Reach  `json:"reach,omitempty"`
}

// AttachResponse is the response to an attach.
type AttachResponse struct {
	Success      bool      `json:"success"`
	SessionID    string    `json:"sessionId"`
	StreamToken  string    `json:"streamToken"`
	StreamURL    string    `json:"streamUrl"`
	ExpiresAt    time.Time `json:"expiresAt"`
	AgentStatus  Status    `json:"agentStatus"`
	StreamCursor *string   `json:"streamCursor"` // stream id just before the open turn; null when idle
	Reach        Reach     `json:"reach,omitempty"`
	Capabilities []string  `json:"capabilities,omitempty"` // of the host, as in CheckInResponse
}

// TaskMode distinguishes tasks with and without an agent.
type TaskMode string

// Task modes.
const (
	ModeAgent TaskMode = "agent"
	ModeChat  TaskMode = "chat"
)

// CreateTaskRequest is the body of POST /api/tasks.
type CreateTaskRequest struct {
	Title         string   `json:"title"`
	Agent         string   `json:"agent,omitempty"`
	Project       string   `json:"project,omitempty"`
	HostID        string   `json:"hostId,omitempty"`
	AgentURL      string   `json:"agentUrl,omitempty"`
	AgentPassword string   `json:"agentPassword,omitempty"`
	Mode          TaskMode `json:"mode,omitempty"`
	Model         string   `json:"model,omitempty"` // of the agent; "" leaves it to the host

	// PermissionMode is that of check-ins which name none; "" leaves it to the host.
	PermissionMode PermissionMode `json:"permissionMode,omitempty"`

	// Workspace is the name of one of the user's workspaces, in which the task works. It decides
	// host and project.
	Workspace string `json:"workspace,omitempty"`

	// Branch is the branch of the project that the task starts from; "" = the project's default.
	Branch string `json:"branch,omitempty"`
}

// Task is a task, as the broker's API returns it.
type Task struct {
	ID          string       `json:"id"`
	Title       string       `json:"title"`
	Mode        TaskMode     `json:"mode"`
	Agent       string       `json:"agent"`
	Project     string       `json:"project"`
	HostID      string       `json:"hostId"`
	AgentURL    string       `json:"agentUrl"`
	AgentStatus Status       `json:"agentStatus"`
	Reason      StatusReason `json:"reason"`
	OpenTurn    *string      `json:"openTurn"` // id of the open turn; null if there is none
	// BasicHost means that the host neither resumes streams nor reports ends of turns.
	BasicHost        bool       `json:"basicHost,omitempty"`
	LastTurn         *LastTurn  `json:"lastTurn"`
	OpenInteractions int        `json:"openInteractions"`
	ReadRev          int64      `json:"readRev"`
	Rev              int64      `json:"rev"`
	Archived         bool       `json:"archived"`
	CreatedAt        time.Time  `json:"createdAt"`
	LastActivityAt   time.Time  `json:"lastActivityAt"`
	Queue            *TaskQueue `json:"queue,omitempty"` // absent while no message is queued
	Model            string     `json:"model,omitempty"` // of its next turns; "" leaves it to the host

	PermissionMode PermissionMode `json:"permissionMode,omitempty"` // of its next turns; "" leaves it to the host

	Workspace string `json:"workspace,omitempty"` // created by name, in which the task works
	Branch    string `json:"branch,omitempty"`    // of the project, that the task starts from; "" = the project's default
}

// LastTurn describes how a task's newest closed turn ended.
type LastTurn struct {
	ID           string          `json:"id"`
	FinishReason FinishReason    `json:"finishReason"`
	Reason       string          `json:"reason"` // a TurnReason, or the agent's own words
	Usage        json.RawMessage `json:"usage"`
}

// TaskList is a page of tasks. NextCursor is opaque, and "" on the last page.
type TaskList struct {
	Tasks      []Task `json:"tasks"`
	NextCursor string `json:"nextCursor"`
}

// Role is the author of a message.
type Role string

// MessageStatus is the delivery state of a message to its host.
type MessageStatus string

// Roles and message statuses.
const (
	RoleUser      Role = "USER"
	RoleAssistant Role = "ASSISTANT"

	MessageSending MessageStatus = "SENDING"
	MessageSent    MessageStatus = "SENT"
	MessageError   MessageStatus = "ERROR"
)

// Message is one row of a task's history. Its text is "" on tool rows. Seq is its
// position in the task, Rev the task's rev at the row's last change.
type Message struct {
	ID        string        `json:"id"`
	Seq       int64         `json:"seq"`
	Rev       int64         `json:"rev"`
	TaskID    string        `json:"taskId"`
	TurnID    string        `json:"turnId"`
	Role      Role          `json:"role"`
	Status    MessageStatus `json:"status"`
	Message   string        `json:"message"`
	Artifacts []Artifact    `json:"artifacts"`
	EventID   string        `json:"eventId"`
	CreatedAt time.Time     `json:"createdAt"`

	// Format, Metadata and Timestamp of a text are as the agent sent them.
	Format    string          `json:"format,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`  // an object; source_documents are shown with the text
	Timestamp json.RawMessage `json:"timestamp,omitempty"` // milliseconds since 1970
	Origin    string          `json:"origin,omitempty"`    // OriginTerminal: of a turn made in the agent's terminal client
}

// Describe sets what an agent sent about the text of an event. Texts without a format
// and metadata have no timestamp either, as before.
func (m *Message) Describe(e *Event) {
	m.Origin = e.Origin
	if e.Format != "" || len(e.Metadata) > 0 {
		m.Format, m.Metadata, m.Timestamp = e.Format, e.Metadata, e.Timestamp
	}
}

// Artifact is a piece of content of a message.
type Artifact struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
}

// ToolUse is the content of a TOOL_USE artifact.
type ToolUse struct {
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Input      json.RawMessage `json:"input"`
	Output     json.RawMessage `json:"output"`
	IsError    bool            `json:"isError"`
	State      ToolState       `json:"state"`
	// When the host reported the call and its result, in milliseconds since 1970 of the host's clock; absent when it
	// did not say.
	StartedAt int64 `json:"startedAt,omitempty"`
	EndedAt   int64 `json:"endedAt,omitempty"`
}

// ToolState is the progress of a tool call.
type ToolState string

// Tool states.
const (
	ToolRunning ToolState = "running" // there is a call and no result yet
	ToolDone    ToolState = "done"
	ToolError   ToolState = "error"
	ToolDenied  ToolState = "denied"
	ToolUnknown ToolState = "unknown" // the turn was closed before a result came; a later result replaces it
)

// MessageList is a page of messages, ascending by seq.
type MessageList struct {
	Messages  []Message `json:"messages"`
	NextAfter int64     `json:"nextAfter"`
	Rev       int64     `json:"rev"`
	Behind    bool      `json:"behind,omitempty"` // what the request waited for did not arrive in time

	// With with=turns: how the turns of the messages ended, and their questions.
	Turns        []LastTurn    `json:"turns,omitempty"`
	Interactions []Interaction `json:"interactions,omitempty"`
}

// Interaction is a question to the user, as the broker's API returns it.
type Interaction struct {
	ID         string             `json:"id"`
	TaskID     string             `json:"taskId"`
	TaskTitle  string             `json:"taskTitle"`
	TurnID     string             `json:"turnId"`
	State      InteractionState   `json:"state"`
	Kind       InteractionKind    `json:"kind"`
	Prompt     string             `json:"prompt"`
	ToolCallID string             `json:"toolCallId,omitempty"`
	ToolName   string             `json:"toolName,omitempty"`
	Args       json.RawMessage    `json:"args,omitempty"`
	Level      string             `json:"level,omitempty"`
	Warning    string             `json:"warning,omitempty"`
	Default    string             `json:"default,omitempty"`
	Options    []string           `json:"options,omitempty"`
	ExpiresAt  string             `json:"expiresAt,omitempty"`
	Answer     *InteractionAnswer `json:"answer,omitempty"`
	CreatedAt  time.Time          `json:"createdAt"`
}

// TaskHint is a frame of the user's feed. It reports that the task has changed.
type TaskHint struct {
	TaskID           string       `json:"taskId"`
	Rev              int64        `json:"rev"`
	AgentStatus      Status       `json:"agentStatus"`
	Reason           StatusReason `json:"reason"`
	OpenInteractions int          `json:"openInteractions"`
}

// Host is an agent host registered with the broker.
type Host struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	URL       string     `json:"url"`
	Health    HostHealth `json:"health"`
	Reach     Reach      `json:"reach"`
	OpenTurns int        `json:"openTurns"`
	OwedEnds  int        `json:"owedEnds,omitempty"` // sessions of deleted tasks that the host has not ended yet
	Copy      *HostCopy  `json:"copy,omitempty"`     // a second copy of it, whose events are refused
	CreatedAt time.Time  `json:"createdAt"`
}

// HostCopy is a second copy of a host: it runs on a copy of the host's data and sends events to the broker, which serves the
// one at the host's URL.
type HostCopy struct {
	Place  string    `json:"place"` // machine and directory, as the copy says
	SeenAt time.Time `json:"seenAt"`
}

// Readiness is the answer of /healthz and /readyz, on broker and host.
type Readiness struct {
	Status  string       `json:"status"`
	Storage StorageState `json:"storage,omitempty"`
}

// StorageState warns about a disk in an answer of /readyz. A full disk is an error
// instead: 507 storage_full.
type StorageState string

// StorageLow means that less room is left than the operator wants.
const StorageLow StorageState = "low"

// HostHealth is the result of the broker's last probe of a host.
type HostHealth string

// Healths of a host.
const (
	HostUnknown     HostHealth = "unknown" // not probed yet
	HostOK          HostHealth = "ok"
	HostLowSpace    HostHealth = "low-space" // it works, but its disk has little room left
	HostFull        HostHealth = "full"      // its disk is full: it serves reads, but no turn can start
	HostUnreachable HostHealth = "unreachable"
)
