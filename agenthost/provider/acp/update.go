package acp

import (
	"encoding/json"
	"strings"
)

// update is a session update, or the tool call of a permission request. It is
// decoded here, because the SDK's types reject unknown kinds and members.
type update struct {
	Kind string `json:"sessionUpdate"`

	// Chunks.
	Content   json.RawMessage `json:"content"` // for calls: a list
	MessageID string          `json:"messageId"`

	// Calls.
	ToolCallID string          `json:"toolCallId"`
	Title      string          `json:"title"`
	Name       string          `json:"name"`
	ToolKind   string          `json:"kind"`
	Status     string          `json:"status"`
	RawInput   json.RawMessage `json:"rawInput"`
	RawOutput  json.RawMessage `json:"rawOutput"`
	Locations  []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Meta struct {
		ClaudeCode struct {
			ToolName string `json:"toolName"`
		} `json:"claudeCode"`
	} `json:"_meta"`

	Mode string `json:"currentModeId"`

	Commands []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Input       struct {
			Hint string `json:"hint"`
		} `json:"input"`
	} `json:"availableCommands"`

	// How much of the model's context the session uses, and its cost.
	Used int64           `json:"used"`
	Size int64           `json:"size"`
	Cost json.RawMessage `json:"cost"`
}

// block is a content block, or an element of a call's content.
type block struct {
	Type    string  `json:"type"`
	Text    string  `json:"text"`
	URI     string  `json:"uri"`
	Content *block  `json:"content"`
	Path    string  `json:"path"`
	OldText *string `json:"oldText"`
	NewText string  `json:"newText"`
}

// chunk decodes the content of a chunk.
func (u *update) chunk() block {
	var b block
	_ = json.Unmarshal(u.Content, &b)
	return b
}

// blocks decodes the content of a call.
func (u *update) blocks() []block {
	var list []block
	_ = json.Unmarshal(u.Content, &list)
	return list
}

// present reports whether a JSON value is not empty.
func present(raw json.RawMessage) bool {
	switch strings.TrimSpace(string(raw)) {
	case "", "null", "{}", "[]", `""`:
		return false
	}
	return true
}
