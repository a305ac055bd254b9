package agent

import (
	"context"
	"encoding/json"
	"iter"

	"bellhop/protocol"
)

// Completer is a model: it continues a conversation. The sequence ends after
// the first error, and soon after ctx ends. It does not keep the conversation
// or the tools, and may be used by several sessions at once.
type Completer interface {
	Complete(ctx context.Context, conversation []Message, tools []ToolSpec) iter.Seq2[Delta, error]
}

// Delta is one step of a completion: a piece of text, a whole tool call, what
// the completion has cost (before its calls, if the model says), or a notice for
// the user that is no part of the answer.
type Delta struct {
	Text   string
	Call   *ToolCall
	Usage  *Usage
	Notice string
}

// Usage counts tokens. Cached ones are among the input's.
type Usage struct {
	Input  int64 `json:"inputTokens"`
	Output int64 `json:"outputTokens"`
	Total  int64 `json:"totalTokens"`
	Cached int64 `json:"cachedInputTokens,omitempty"`
}

func (u *Usage) add(more Usage) {
	u.Input += more.Input
	u.Output += more.Output
	u.Total += more.Total
	u.Cached += more.Cached
}

// Role is who a message is from.
type Role string

// Roles. A RoleTool message is the result of one call; a RoleSystem message, the
// session's instructions, can only be the first.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role        Role
	Text        string
	Attachments []protocol.Attachment // user
	Calls       []ToolCall            // assistant
	CallID      string                // tool: the call it answers
	Outcome     Outcome               // tool
}

// Outcome is how a tool call ended.
type Outcome string

// Outcomes of tool calls.
const (
	OutcomeDone   Outcome = "done"
	OutcomeError  Outcome = "error"
	OutcomeDenied Outcome = "denied"
)

// ToolCall is a model's wish to use a tool. The loop replaces its ID by one
// that is unique in the session.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage // a JSON object
	Problem   string          // not "": the model's arguments were none, and why; the call is refused
}

// ToolSpec tells a model about a tool; Schema is the JSON Schema of its
// arguments.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}
