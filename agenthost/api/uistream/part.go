package uistream

import "encoding/json"

// part is a native part, with the members of all types.
type part struct {
	Type string `json:"type"`
	ID   string `json:"id"`

	Text  string `json:"text"`
	Delta string `json:"delta"`

	call

	Output      json.RawMessage `json:"output"`
	Preliminary bool            `json:"preliminary"`
	Invalid     bool            `json:"invalid"`
	Error       json.RawMessage `json:"error"`

	ApprovalID string `json:"approvalId"`

	SecurityWarning json.RawMessage `json:"security_warning"`

	ToolCall *call  `json:"toolCall"`
	Approved *bool  `json:"approved"`
	Reason   string `json:"reason"`

	FinishReason string          `json:"finishReason"`
	TotalUsage   json.RawMessage `json:"totalUsage"`

	SourceType string `json:"sourceType"`
	URL        string `json:"url"`
	MediaType  string `json:"mediaType"`
	Filename   string `json:"filename"`
	File       *file  `json:"file"`

	Data json.RawMessage `json:"data"`
}

type call struct {
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Input      json.RawMessage `json:"input"`
	Title      string          `json:"title"`
}

// file is the SDK's GeneratedFile: its JSON has base64Data, base64 is a getter.
type file struct {
	MediaType  string `json:"mediaType"`
	Base64     string `json:"base64"`
	Base64Data string `json:"base64Data"`
}

// chunk is a UI message chunk, with the members of all types.
type chunk struct {
	Type      string `json:"type"`
	ID        string `json:"id,omitempty"`
	MessageID string `json:"messageId,omitempty"`

	Delta          *string         `json:"delta,omitempty"`
	ApprovalID     string          `json:"approvalId,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	ToolName       string          `json:"toolName,omitempty"`
	InputTextDelta *string         `json:"inputTextDelta,omitempty"`
	Input          json.RawMessage `json:"input,omitempty"`
	Output         json.RawMessage `json:"output,omitempty"`
	Preliminary    bool            `json:"preliminary,omitempty"`

	// Both are set on every chunk of a tool, because the page does not know the
	// agent's tools and must not run them.
	Dynamic          bool `json:"dynamic,omitempty"`
	ProviderExecuted bool `json:"providerExecuted,omitempty"`

	ErrorText string `json:"errorText,omitempty"`
	Approved  *bool  `json:"approved,omitempty"`
	Reason    string `json:"reason,omitempty"`

	SourceID  string `json:"sourceId,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	URL       string `json:"url,omitempty"`
	Title     string `json:"title,omitempty"`
	Filename  string `json:"filename,omitempty"`

	Data      json.RawMessage `json:"data,omitempty"`
	Transient bool            `json:"transient,omitempty"`

	FinishReason    string    `json:"finishReason,omitempty"`
	MessageMetadata *metadata `json:"messageMetadata,omitempty"`
}

type metadata struct {
	Usage json.RawMessage `json:"usage"`
}

// errorText returns the text of an error that a page may show: a string, or the
// message of a JavaScript Error in JSON.
func errorText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return text
	}
	var e struct{ Message, Name string }
	if json.Unmarshal(raw, &e) == nil && e.Message != "" {
		return e.Message
	}
	if len(raw) > 0 && string(raw) != "{}" && string(raw) != "null" {
		return string(raw)
	}
	return "Something failed"
}
