package opencode

import (
	"cmp"
	"encoding/json"
)

// event is an event of the stream. The Type decides about the Properties.
type event struct {
	Type       string          `json:"type"`
	Properties json.RawMessage `json:"properties"`
}

// Types of events that a turn handles.
const (
	eventSessionCreated    = "session.created"
	eventSessionStatus     = "session.status"
	eventSessionIdle       = "session.idle"
	eventSessionError      = "session.error"
	eventMessageUpdated    = "message.updated"
	eventPartUpdated       = "message.part.updated"
	eventPartDelta         = "message.part.delta"
	eventPermissionAsked   = "permission.asked"
	eventPermissionReplied = "permission.replied"
	eventQuestionAsked     = "question.asked"
	eventQuestionReplied   = "question.replied"
	eventQuestionRejected  = "question.rejected"
)

// handled holds the types that a turn handles. Others may have any properties.
var handled = map[string]bool{
	eventSessionCreated: true, eventSessionStatus: true, eventSessionIdle: true, eventSessionError: true,
	eventMessageUpdated: true, eventPartUpdated: true, eventPartDelta: true,
	eventPermissionAsked: true, eventPermissionReplied: true,
	eventQuestionAsked: true, eventQuestionReplied: true, eventQuestionRejected: true,
}

// decode decodes JSON. It returns false if the JSON has another shape.
func decode[T any](raw json.RawMessage) (v T, ok bool) {
	ok = json.Unmarshal(raw, &v) == nil
	return v, ok
}

// properties is the union of the events' properties.
type properties struct {
	SessionID string          `json:"sessionID"`
	RequestID string          `json:"requestID"`
	Info      json.RawMessage `json:"info"` // session or messageInfo
	Part      *part           `json:"part"`
	PartID    string          `json:"partID"`
	Field     string          `json:"field"`
	Delta     string          `json:"delta"`
	Status    status          `json:"status"`
	Error     *failure        `json:"error"`
}

type session struct {
	ID       string `json:"id"`
	ParentID string `json:"parentID"`
	Title    string `json:"title"`
	Time     times  `json:"time"`
}

// times are in ms since 1970. Times in the future are 0.
type times struct {
	Created   int64 `json:"created"`
	Completed int64 `json:"completed"`
	Start     int64 `json:"start"`
	End       int64 `json:"end"`
}

// Kinds of status.
const (
	statusIdle  = "idle"
	statusRetry = "retry"
)

type status struct {
	Type    string `json:"type"`
	Attempt int    `json:"attempt"`
	Message string `json:"message"`
	Next    int64  `json:"next"` // ms since 1970
}

const roleAssistant = "assistant"

type messageInfo struct {
	ID        string          `json:"id"`
	SessionID string          `json:"sessionID"`
	Role      string          `json:"role"`
	Time      times           `json:"time"`
	Error     *failure        `json:"error"`
	Finish    string          `json:"finish"`
	Summary   json.RawMessage `json:"summary"` // true for an assistant's message that summarizes the session
}

// storedMessage is a message with its parts, as OpenCode stores it.
type storedMessage struct {
	Info  messageInfo `json:"info"`
	Parts []part      `json:"parts"`
}

// nameAborted is the error name of a turn that was aborted on request.
const nameAborted = "MessageAbortedError"

type failure struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
	} `json:"data"`
}

func (f *failure) description() string {
	return cmp.Or(f.Data.Message, f.Name, "The agent reports an error")
}

// Kinds of parts.
const (
	partText       = "text"
	partFile       = "file"
	partReasoning  = "reasoning"
	partTool       = "tool"
	partStepStart  = "step-start"
	partStepFinish = "step-finish"
)

type part struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	MessageID string `json:"messageID"`
	Type      string `json:"type"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"`
	Ignored   bool   `json:"ignored"`
	Time      times  `json:"time"`

	Tool   string    `json:"tool"`
	CallID string    `json:"callID"`
	State  toolState `json:"state"`

	Reason string  `json:"reason"`
	Tokens tokens  `json:"tokens"`
	Cost   float64 `json:"cost"` // US dollars
}

// States of a tool.
const (
	toolPending   = "pending"
	toolCompleted = "completed"
	toolError     = "error"
)

type toolState struct {
	Status   string          `json:"status"`
	Input    json.RawMessage `json:"input"`
	Output   string          `json:"output"`
	Error    string          `json:"error"`
	Metadata json.RawMessage `json:"metadata"` // differs for each tool
}

// exit returns a command's exit status, or 0 for another tool.
func (s *toolState) exit() int {
	known, _ := decode[struct {
		Exit int `json:"exit"`
	}](s.Metadata)
	return known.Exit
}

type tokens struct {
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
	Cache     struct {
		Read  int64 `json:"read"`
		Write int64 `json:"write"`
	} `json:"cache"`
}

// toolRef identifies the call of a permission or question.
type toolRef struct {
	MessageID string `json:"messageID"`
	CallID    string `json:"callID"`
}

type permission struct {
	ID         string          `json:"id"`
	SessionID  string          `json:"sessionID"`
	Permission string          `json:"permission"` // edit, bash, webfetch, …
	Patterns   []string        `json:"patterns"`
	Metadata   json.RawMessage `json:"metadata"`
	Tool       *toolRef        `json:"tool"`
}

type question struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	Questions []struct {
		Question string `json:"question"`
		Header   string `json:"header"`
		Multiple bool   `json:"multiple"`
		Options  []struct {
			Label       string `json:"label"`
			Description string `json:"description"`
		} `json:"options"`
	} `json:"questions"`
	Tool *toolRef `json:"tool"`
}

type promptBody struct {
	Model *model       `json:"model,omitempty"`
	Parts []promptPart `json:"parts"`
}

// promptPart is a text or a file. The URL of a file contains its content.
type promptPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Mime     string `json:"mime,omitempty"`
	Filename string `json:"filename,omitempty"`
	URL      string `json:"url,omitempty"`
}
