package protocol

import "encoding/json"

// Part is one element of the native stream: the AI SDK's TextStreamPart as JSON
// (see docs/architecture.md). One struct has the members of all types; absent ones
// are left out of the JSON. Event is set on the part that completes a persisted
// event, so that a client can merge stream and history.
type Part struct {
	Type PartType `json:"type"`
	ID   string   `json:"id,omitempty"`

	Text *string `json:"text,omitempty"` // text-delta, reasoning-delta

	Format    string          `json:"format,omitempty"` // text-end, with the two below: as the agent sent them
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Timestamp json.RawMessage `json:"timestamp,omitempty"` // milliseconds since 1970

	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	Dynamic    bool            `json:"dynamic,omitempty"`

	ApprovalID string    `json:"approvalId,omitempty"`
	ToolCall   *ToolCall `json:"toolCall,omitempty"`
	Approved   *bool     `json:"approved,omitempty"`

	Prompt          string           `json:"prompt,omitempty"` // tool-approval-request, with the two below
	ExpiresAt       string           `json:"expiresAt,omitempty"`
	SecurityWarning *SecurityWarning `json:"security_warning,omitempty"`

	FinishReason    FinishReason    `json:"finishReason,omitempty"`
	RawFinishReason string          `json:"rawFinishReason,omitempty"`
	TotalUsage      json.RawMessage `json:"totalUsage,omitempty"`
	Reason          string          `json:"reason,omitempty"`

	Error json.RawMessage `json:"error,omitempty"` // a string or {name,message}
	Data  json.RawMessage `json:"data,omitempty"`  // data-…

	Event *PartEvent `json:"event,omitempty"`
}

// PartEvent links a part to the event that it completes.
type PartEvent struct {
	ID     string `json:"id"`
	Seq    int64  `json:"seq"`
	TurnID string `json:"turnId"`
}

// ToolCall is the call inside an approval request.
type ToolCall struct {
	Type       string          `json:"type"` // "tool-call"
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Input      json.RawMessage `json:"input"`
}

// PartType is the type of a part that Bellhop's own hosts send. It is an alias of
// string, because other hosts send any part of the AI SDK. Clients ignore unknown
// types.
type PartType = string

// Part types.
const (
	PartTextStart            PartType = "text-start"
	PartTextDelta            PartType = "text-delta"
	PartTextEnd              PartType = "text-end"
	PartReasoningStart       PartType = "reasoning-start"
	PartReasoningDelta       PartType = "reasoning-delta"
	PartReasoningEnd         PartType = "reasoning-end"
	PartToolCall             PartType = "tool-call"
	PartToolResult           PartType = "tool-result"
	PartToolError            PartType = "tool-error"
	PartToolOutputDenied     PartType = "tool-output-denied"
	PartToolApprovalRequest  PartType = "tool-approval-request"
	PartToolApprovalResponse PartType = "tool-approval-response"
	PartDataAsk              PartType = "data-ask"
	PartDataAnswer           PartType = "data-answer"           // ends a data-ask: {state, answer}
	PartDataNotice           PartType = "data-notice"           // transient: {level, message}
	PartDataQueued           PartType = "data-queued"           // the turn waits for another: {turnId, position}
	PartDataContextRestored  PartType = "data-context-restored" // transient: ContextRestored
	PartDataResume           PartType = "data-resume"
	PartFinish               PartType = "finish"
	PartAbort                PartType = "abort"
	PartError                PartType = "error"
)

// Terminal reports whether the part ends its turn's stream.
func (p *Part) Terminal() bool {
	return p.Type == PartFinish || p.Type == PartAbort || p.Type == PartError
}

// Resume is the data of a data-resume part, the first frame of a resumed
// stream (sent without an SSE id).
type Resume struct {
	Verdict          ResumeVerdict `json:"verdict"`
	From             string        `json:"from"`             // stream id of the first frame that follows, "" if none
	To               string        `json:"to"`               // the newest stream id at that moment, "" if none
	OpenInteractions []string      `json:"openInteractions"` // ids of the questions that still wait for an answer
}

// ResumeVerdict states whether a stream continues exactly where its reader left it.
type ResumeVerdict = string

// Resume verdicts.
const (
	ResumeOK  ResumeVerdict = "ok"  // the frames that follow are the next ones
	ResumeGap ResumeVerdict = "gap" // drop the turn's parts: the turn is replayed from its start
)

// ContextRestored is the data of a data-context-restored part. The agent had lost
// its memory and got this part of the host's journal as a replacement.
type ContextRestored struct {
	Turns     int  `json:"turns"`
	Bytes     int  `json:"bytes"`
	Truncated bool `json:"truncated"` // whether older turns, or parts of long texts, were left out
}

// Ask is the data of a data-ask part: a question that is not a tool permission.
type Ask struct {
	Prompt  string   `json:"prompt"`
	Default string   `json:"default,omitempty"`
	Options []string `json:"options,omitempty"`
}
