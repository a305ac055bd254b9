package protocol

import "encoding/json"

// Part is one element of the native stream: the AI SDK's TextStreamPart as JSON
// (design notes: docs/architecture.md). One struct holds every type's members;
// absent ones are not written. Event is set on the part that completes a
// persisted event, so that a client can merge stream and history.
type Part struct {
	Type string `json:"type"`
	ID   string `json:"id,omitempty"`

	Text *string `json:"text,omitempty"` // text-delta, reasoning-delta

	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	Dynamic    bool            `json:"dynamic,omitempty"`

	ApprovalID string    `json:"approvalId,omitempty"`
	ToolCall   *ToolCall `json:"toolCall,omitempty"`
	Approved   *bool     `json:"approved,omitempty"`

	FinishReason    FinishReason    `json:"finishReason,omitempty"`
	RawFinishReason string          `json:"rawFinishReason,omitempty"`
	TotalUsage      json.RawMessage `json:"totalUsage,omitempty"`
	Reason          string          `json:"reason,omitempty"`

	Error json.RawMessage `json:"error,omitempty"` // a string or {name,message}
	Data  json.RawMessage `json:"data,omitempty"`  // data-…

	Event *PartEvent `json:"event,omitempty"`
}

// PartEvent ties a part to the event it completes.
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

// Part types that Bellhop's own hosts send. Clients ignore types they do not
// know.
const (
	PartTextStart            = "text-start"
	PartTextDelta            = "text-delta"
	PartTextEnd              = "text-end"
	PartReasoningStart       = "reasoning-start"
	PartReasoningDelta       = "reasoning-delta"
	PartReasoningEnd         = "reasoning-end"
	PartToolCall             = "tool-call"
	PartToolResult           = "tool-result"
	PartToolError            = "tool-error"
	PartToolOutputDenied     = "tool-output-denied"
	PartToolApprovalRequest  = "tool-approval-request"
	PartToolApprovalResponse = "tool-approval-response"
	PartDataAsk              = "data-ask"
	PartDataAnswer           = "data-answer"           // the end of a data-ask: {state, answer}
	PartDataNotice           = "data-notice"           // shown, not kept: {level, message}
	PartDataQueued           = "data-queued"           // the turn waits for another: {turnId, position}
	PartDataContextRestored  = "data-context-restored" // shown, not kept: ContextRestored
	PartDataResume           = "data-resume"
	PartFinish               = "finish"
	PartAbort                = "abort"
	PartError                = "error"
)

// Terminal reports whether the part ends its turn's stream.
func (p *Part) Terminal() bool {
	return p.Type == PartFinish || p.Type == PartAbort || p.Type == PartError
}

// Resume is the data of a data-resume part, the first frame of a resumed
// stream (sent without an SSE id).
type Resume struct {
	Verdict          string   `json:"verdict"` // ResumeOK or ResumeGap
	From             string   `json:"from"`    // stream id of the first frame that follows, "" if none
	To               string   `json:"to"`      // the newest stream id at that moment, "" if none
	OpenInteractions []string `json:"openInteractions"`
}

// Resume verdicts: ok continues exactly; gap means the client drops the turn's
// parts and takes the replayed turn.
const (
	ResumeOK  = "ok"
	ResumeGap = "gap"
)

// ContextRestored is the data of a data-context-restored part: the agent's own
// memory was gone and it goes on from this much of the host's journal.
type ContextRestored struct {
	Turns     int  `json:"turns"`
	Bytes     int  `json:"bytes"`
	Truncated bool `json:"truncated"` // older turns, or parts of long texts, were left out
}

// Ask is the data of a data-ask part.
type Ask struct {
	Prompt  string   `json:"prompt"`
	Default string   `json:"default,omitempty"`
	Options []string `json:"options,omitempty"`
}
