package model

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"bellhop/agent"
	"bellhop/protocol"
)

// anthropicMessages implements Anthropic Messages.
type anthropicMessages struct {
	endpoint  *endpoint
	model     string
	maxTokens int
}

// anthropicVersion is the version of the API that requests ask for.
const anthropicVersion = "2023-06-01"

func newAnthropic(o *Options, model string) dialect {
	e := newEndpoint(o, "v1/messages")
	e.header.Set("Anthropic-Version", anthropicVersion)
	if o.Key != "" {
		e.header.Set("X-Api-Key", o.Key)
	}
	return &anthropicMessages{endpoint: e, model: model, maxTokens: cmp.Or(o.MaxTokens, anthropicTokens)}
}

// messagesEvent has the members of all events that are used.
type messagesEvent struct {
	Type    string `json:"type"`
	Index   int64  `json:"index"` // of the block
	Message struct {
		Usage struct {
			Input        int64 `json:"input_tokens"`
			CacheRead    int64 `json:"cache_read_input_tokens"`
			CacheCreated int64 `json:"cache_creation_input_tokens"`
		} `json:"usage"`
	} `json:"message"`
	Block struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"content_block"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage struct {
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
}

// messagesAnswer collects an answer.
type messagesAnswer struct {
	used       agent.Usage
	open       calls
	ended, cut bool
}

// add returns the text of an event, if it has one.
func (a *messagesAnswer) add(event *messagesEvent) (text string) {
	switch event.Type {
	case "message_start":
		u := event.Message.Usage
		a.used.Cached = u.CacheRead
		a.used.Input = u.Input + u.CacheRead + u.CacheCreated
	case "content_block_start":
		if event.Block.Type == "tool_use" {
			a.open.at(event.Index).name = event.Block.Name
		}
	case "content_block_delta":
		switch event.Delta.Type {
		case "text_delta":
			return event.Delta.Text
		case "input_json_delta":
			p := a.open.at(event.Index)
			p.arguments = append(p.arguments, event.Delta.PartialJSON...)
		}
	case "message_delta":
		a.used.Output = event.Usage.Output
		a.cut = event.Delta.StopReason == "max_tokens"
	case "message_stop":
		a.ended = true
	}
	return ""
}

func (d *anthropicMessages) try(
	ctx context.Context, conversation []agent.Message, tools []agent.ToolSpec, emit emitFunc,
) error {
	var a messagesAnswer
	for event, err := range events[messagesEvent](ctx, d.endpoint, d.request(conversation, tools)) {
		if err != nil {
			return err
		}
		if text := a.add(event); text != "" && !emit(agent.Delta{Text: text}) {
			return nil
		}
	}
	if !a.ended {
		return errBroken
	}
	return finish(a.used, a.cut, &a.open, emit)
}

// finish emits usage, notice and tool calls after the text.
func finish(used agent.Usage, cut bool, open *calls, emit emitFunc) error {
	used.Total = used.Input + used.Output
	if used.Total > 0 && !emit(agent.Delta{Usage: &used}) {
		return nil
	}
	if cut && !emit(agent.Delta{Notice: cutNotice}) {
		return nil
	}
	return open.emit(cut, emit)
}

// The members of requests are in the order of the vendor's SDK.
type (
	messagesRequest struct {
		MaxTokens int           `json:"max_tokens"`
		Messages  []message     `json:"messages,omitempty"`
		Model     string        `json:"model"`
		System    []textBlock   `json:"system,omitempty"`
		Tools     []messageTool `json:"tools,omitempty"`
		Stream    bool          `json:"stream"`
	}
	message struct {
		Content []any  `json:"content"` // blocks
		Role    string `json:"role"`
	}
	textBlock struct {
		Text         string        `json:"text"`
		CacheControl *cacheControl `json:"cache_control,omitempty"`
		Type         string        `json:"type"`
	}
	cacheControl struct {
		Type string `json:"type"`
	}
	sourceBlock struct {
		Source source `json:"source"`
		Type   string `json:"type"`
	}
	source struct {
		Data      string `json:"data"`
		MediaType string `json:"media_type"`
		Type      string `json:"type"`
	}
	callBlock struct {
		ID    string          `json:"id"`
		Input json.RawMessage `json:"input"`
		Name  string          `json:"name"`
		Type  string          `json:"type"`
	}
	resultBlock struct {
		CallID  string      `json:"tool_use_id"`
		IsError bool        `json:"is_error"`
		Content []textBlock `json:"content"`
		Type    string      `json:"type"`
	}
	messageTool struct {
		Schema      map[string]json.RawMessage `json:"input_schema,omitempty"`
		Name        string                     `json:"name"`
		Description string                     `json:"description"`
	}
)

func newTextBlock(text string) textBlock { return textBlock{Text: text, Type: "text"} }

func (d *anthropicMessages) request(conversation []agent.Message, tools []agent.ToolSpec) *messagesRequest {
	request := &messagesRequest{Model: d.model, MaxTokens: d.maxTokens, Stream: true}
	for _, m := range conversation {
		if m.Role == agent.RoleSystem {
			block := newTextBlock(m.Text)
			block.CacheControl = &cacheControl{Type: "ephemeral"}
			request.System = append(request.System, block)
			continue
		}
		request.Messages = appendMessage(request.Messages, m)
	}
	for _, t := range tools {
		request.Tools = append(request.Tools, messageTool{
			Name: t.Name, Description: t.Description, Schema: inputSchema(t.Schema),
		})
	}
	return request
}

// appendMessage merges consecutive messages of one role: Anthropic requires the results of one
// step, and a prompt after them, in one message.
func appendMessage(messages []message, m agent.Message) []message {
	role := "user"
	if m.Role == agent.RoleAssistant {
		role = "assistant"
	}
	content := blocks(m)
	if len(content) == 0 {
		return messages
	}
	if last := len(messages) - 1; last >= 0 && messages[last].Role == role {
		messages[last].Content = append(messages[last].Content, content...)
		return messages
	}
	return append(messages, message{Role: role, Content: content})
}

func blocks(m agent.Message) []any {
	if m.Role == agent.RoleTool {
		return []any{resultBlock{
			CallID: m.CallID, IsError: m.Outcome != agent.OutcomeDone,
			Content: []textBlock{newTextBlock(resultText(m))}, Type: "tool_result",
		}}
	}
	var list []any
	for _, a := range m.Attachments {
		list = append(list, attachmentBlock(&a))
	}
	if strings.TrimSpace(m.Text) != "" { // the API rejects blank blocks
		list = append(list, newTextBlock(m.Text))
	}
	for _, call := range m.Calls {
		list = append(list, callBlock{ID: call.ID, Input: call.Arguments, Name: call.Name, Type: "tool_use"})
	}
	return list
}

func attachmentBlock(a *protocol.Attachment) sourceBlock {
	text, isText := a.Text()
	switch {
	case isText:
		return sourceBlock{Type: "document", Source: source{Data: text, MediaType: "text/plain", Type: "text"}}
	case a.Type == protocol.AttachmentDocument:
		return sourceBlock{Type: "document", Source: source{Data: a.Data, MediaType: protocol.MediaPDF, Type: "base64"}}
	default:
		mediaType := cmp.Or(a.MediaType, imageType)
		return sourceBlock{Type: "image", Source: source{Data: a.Data, MediaType: mediaType, Type: "base64"}}
	}
}

// inputSchema returns a schema of type object, or nil if the schema is invalid.
func inputSchema(raw json.RawMessage) map[string]json.RawMessage {
	var schema map[string]json.RawMessage
	var required []string
	if json.Unmarshal(raw, &schema) != nil || schema == nil ||
		schema["required"] != nil && json.Unmarshal(schema["required"], &required) != nil {
		return nil
	}
	for _, name := range []string{"properties", "required"} {
		if string(schema[name]) == "null" {
			delete(schema, name)
		}
	}
	schema["type"] = json.RawMessage(`"object"`)
	return schema
}
