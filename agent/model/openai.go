package model

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"bellhop/agent"
	"bellhop/protocol"
)

// openAIChat implements OpenAI chat completions, which other servers implement too.
type openAIChat struct {
	endpoint  *endpoint
	model     string
	maxTokens int
}

// noKey is sent to servers that need no key: some reject a request without one.
const noKey = "none"

// imageType is the media type of an image that has none.
const imageType = "image/png"

func newOpenAI(o *Options, model string) dialect {
	e := newEndpoint(o, "chat/completions")
	e.header.Set("Authorization", "Bearer "+cmp.Or(o.Key, noKey))
	return &openAIChat{endpoint: e, model: model, maxTokens: o.MaxTokens}
}

// chatChunk has the members of a chunk that are used.
type chatChunk struct {
	Choices []struct {
		Delta struct {
			Content   string `json:"content"`
			Refusal   string `json:"refusal"`
			ToolCalls []struct {
				Index    int64 `json:"index"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Total      int64 `json:"total_tokens"`
		Details    struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

// chatAnswer collects an answer.
type chatAnswer struct {
	used   agent.Usage
	open   calls
	reason string // to finish
}

// add returns the text of a chunk, if it has one.
func (a *chatAnswer) add(chunk *chatChunk) (text string) {
	if u := chunk.Usage; u.Total > 0 {
		a.used.Input, a.used.Output, a.used.Cached = u.Prompt, u.Completion, u.Details.Cached
	}
	if len(chunk.Choices) == 0 {
		return ""
	}
	choice := &chunk.Choices[0]
	a.reason = cmp.Or(choice.FinishReason, a.reason)
	for _, part := range choice.Delta.ToolCalls {
		p := a.open.at(part.Index)
		p.name = cmp.Or(p.name, part.Function.Name)
		p.arguments = append(p.arguments, part.Function.Arguments...)
	}
	return choice.Delta.Content + choice.Delta.Refusal
}

func (d *openAIChat) try(
	ctx context.Context, conversation []agent.Message, tools []agent.ToolSpec, emit emitFunc,
) error {
	var a chatAnswer
	for chunk, err := range events[chatChunk](ctx, d.endpoint, d.request(conversation, tools)) {
		if err != nil {
			return err
		}
		if text := a.add(chunk); text != "" && !emit(agent.Delta{Text: text}) {
			return nil
		}
	}
	if a.reason == "" {
		return errBroken
	}
	return finish(a.used, a.reason == "length", &a.open, emit)
}

// The members of requests are in the order of the vendor's SDK.
type (
	chatRequest struct {
		Messages      []chatMessage `json:"messages,omitempty"`
		Model         string        `json:"model"`
		MaxTokens     int           `json:"max_completion_tokens,omitempty"`
		StreamOptions streamOptions `json:"stream_options"`
		Tools         []chatTool    `json:"tools,omitempty"`
		Stream        bool          `json:"stream"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	chatMessage struct {
		Content   any        `json:"content,omitzero"` // string or []chatPart
		ToolCalls []chatCall `json:"tool_calls,omitempty"`
		CallID    string     `json:"tool_call_id,omitempty"`
		Role      string     `json:"role"`
	}
	chatPart struct {
		Text     *string   `json:"text,omitempty"`
		File     *chatFile `json:"file,omitempty"`
		ImageURL *imageURL `json:"image_url,omitempty"`
		Type     string    `json:"type"`
	}
	chatFile struct {
		Data string `json:"file_data"`
		Name string `json:"filename"`
	}
	imageURL struct {
		URL string `json:"url"`
	}
	chatCall struct {
		ID       string       `json:"id"`
		Function calledByName `json:"function"`
		Type     string       `json:"type"`
	}
	calledByName struct {
		Arguments string `json:"arguments"`
		Name      string `json:"name"`
	}
	chatTool struct {
		Function chatFunction `json:"function"`
		Type     string       `json:"type"`
	}
	chatFunction struct {
		Name        string                     `json:"name"`
		Description string                     `json:"description"`
		Parameters  map[string]json.RawMessage `json:"parameters,omitzero"`
	}
)

func (d *openAIChat) request(conversation []agent.Message, tools []agent.ToolSpec) *chatRequest {
	request := &chatRequest{
		Model: d.model, MaxTokens: d.maxTokens, Stream: true, StreamOptions: streamOptions{IncludeUsage: true},
	}
	for _, m := range conversation {
		request.Messages = append(request.Messages, newChatMessage(m))
	}
	for _, t := range tools {
		schema := map[string]json.RawMessage{}
		_ = json.Unmarshal(t.Schema, &schema) // without a schema the tool takes no arguments
		request.Tools = append(request.Tools, chatTool{Type: "function", Function: chatFunction{
			Name: t.Name, Description: t.Description, Parameters: schema,
		}})
	}
	return request
}

func newChatMessage(m agent.Message) chatMessage {
	switch m.Role {
	case agent.RoleSystem:
		return chatMessage{Role: "system", Content: m.Text}
	case agent.RoleTool:
		return chatMessage{Role: "tool", Content: resultText(m), CallID: m.CallID}
	case agent.RoleAssistant:
		return chatReply(m)
	default:
		return chatMessage{Role: "user", Content: promptContent(m)}
	}
}

func chatReply(m agent.Message) chatMessage {
	reply := chatMessage{Role: "assistant"}
	if m.Text != "" {
		reply.Content = m.Text
	}
	for _, call := range m.Calls {
		reply.ToolCalls = append(reply.ToolCalls, chatCall{
			ID: call.ID, Type: "function", Function: calledByName{Name: call.Name, Arguments: string(call.Arguments)},
		})
	}
	return reply
}

// promptContent returns the text, or a list of parts if there are attachments.
func promptContent(m agent.Message) any {
	if len(m.Attachments) == 0 {
		return m.Text
	}
	var parts []chatPart
	for i, a := range m.Attachments {
		url := "data:" + cmp.Or(a.MediaType, imageType) + ";base64," + a.Data
		text, isText := a.Text()
		switch {
		case isText:
			text = fmt.Sprintf("Attached document %d:\n\n%s", i+1, text)
			parts = append(parts, chatPart{Type: "text", Text: &text})
		case a.Type == protocol.AttachmentDocument:
			parts = append(parts, chatPart{Type: "file", File: &chatFile{Data: url, Name: fmt.Sprintf("document-%d.pdf", i+1)}})
		default:
			parts = append(parts, chatPart{Type: "image_url", ImageURL: &imageURL{URL: url}})
		}
	}
	if m.Text != "" {
		parts = append(parts, chatPart{Type: "text", Text: &m.Text})
	}
	return parts
}
