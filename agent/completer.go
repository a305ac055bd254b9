package agent

import (
	"context"
	"encoding/json"
	"iter"

	"bellhop/protocol"
)

// Completer is a model: it continues a conversation. The sequence ends after the first error,
// and soon after ctx ends. A Completer must not retain the conversation or the tools. It may be
// used by several sessions at the same time.
type Completer interface {
	Complete(ctx context.Context, conversation []Message, tools []ToolSpec) iter.Seq2[Delta, error]
}

// Delta is one step of a completion: a piece of text, a complete tool call, the usage (before
// the calls, if the model reports it), or a notice for the user that is not part of the answer.
type Delta struct {
	Text   string
	Call   *ToolCall
	Usage  *Usage
	Notice string
}

// Usage counts tokens. Input includes Cached.
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

// Role is the author of a message.
type Role string

// The roles. A RoleTool message is the result of one call. A RoleSystem message holds the
// session's instructions and can only be the first.
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
	CallID      string                // only for RoleTool: the call it belongs to
	Outcome     Outcome               // tool
}

// Outcome is the result of a tool call.
type Outcome string

// The outcomes of tool calls.
const (
	OutcomeDone   Outcome = "done"
	OutcomeError  Outcome = "error"
	OutcomeDenied Outcome = "denied"
)

// ToolCall is a model's request to use a tool. The loop replaces its ID by one that is unique
// in the session.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage // a JSON object
	Problem   string          // why the model's arguments are not a JSON object, "" if they are; the call is rejected
}

// ToolSpec describes a tool to a model; Schema is the JSON Schema of its arguments.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}
