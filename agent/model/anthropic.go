package model

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"bellhop/agent"
	"bellhop/protocol"
)

// anthropicMessages implements Anthropic Messages.
type anthropicMessages struct {
	service   anthropic.MessageService
	model     string
	maxTokens int64
}

func newAnthropic(o *Options, model string) dialect {
	settings := []option.RequestOption{
		option.WithBaseURL(o.BaseURL), option.WithHTTPClient(o.Client), option.WithMaxRetries(0),
	}
	if o.Key != "" {
		settings = append(settings, option.WithAPIKey(o.Key))
	}
	return &anthropicMessages{
		service: anthropic.NewMessageService(settings...), // not NewClient: that reads the environment
		model:   model, maxTokens: int64(cmp.Or(o.MaxTokens, anthropicTokens)),
	}
}

func (d *anthropicMessages) try(
	ctx context.Context, conversation []agent.Message, tools []agent.ToolSpec, emit emitFunc,
) error {
	stream := d.service.NewStreaming(ctx, d.params(conversation, tools))
	defer func() { _ = stream.Close() }()
	var used agent.Usage
	var open calls
	ended, cut := false, false
	for stream.Next() {
		switch event := stream.Current(); event.Type {
		case "message_start":
			u := event.Message.Usage
			used.Cached = u.CacheReadInputTokens
			used.Input = u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
		case "content_block_start":
			if event.ContentBlock.Type == "tool_use" {
				open.at(event.Index).name = event.ContentBlock.Name
			}
		case "content_block_delta":
			switch event.Delta.Type {
			case "text_delta":
				if event.Delta.Text != "" && !emit(agent.Delta{Text: event.Delta.Text}) {
					return nil
				}
			case "input_json_delta":
				p := open.at(event.Index)
				p.arguments = append(p.arguments, event.Delta.PartialJSON...)
			}
		case "message_delta":
			used.Output = event.Usage.OutputTokens
			cut = event.Delta.StopReason == anthropic.StopReasonMaxTokens
		case "message_stop":
			ended = true
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	if !ended {
		return errBroken
	}
	return finish(used, cut, &open, emit)
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

func (d *anthropicMessages) params(conversation []agent.Message, tools []agent.ToolSpec) anthropic.MessageNewParams {
	params := anthropic.MessageNewParams{Model: d.model, MaxTokens: d.maxTokens}
	for _, m := range conversation {
		if m.Role == agent.RoleSystem {
			params.System = append(params.System, anthropic.TextBlockParam{
				Text: m.Text, CacheControl: anthropic.NewCacheControlEphemeralParam(),
			})
			continue
		}
		params.Messages = appendMessage(params.Messages, m)
	}
	for _, t := range tools {
		params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: t.Name, Description: anthropic.String(t.Description), InputSchema: inputSchema(t.Schema),
		}})
	}
	return params
}

// appendMessage merges consecutive messages of one role: Anthropic requires the results of one
// step, and a prompt after them, in one message.
func appendMessage(messages []anthropic.MessageParam, m agent.Message) []anthropic.MessageParam {
	role := anthropic.MessageParamRoleUser
	if m.Role == agent.RoleAssistant {
		role = anthropic.MessageParamRoleAssistant
	}
	content := blocks(m)
	if len(content) == 0 {
		return messages
	}
	if last := len(messages) - 1; last >= 0 && messages[last].Role == role {
		messages[last].Content = append(messages[last].Content, content...)
		return messages
	}
	return append(messages, anthropic.MessageParam{Role: role, Content: content})
}

func blocks(m agent.Message) []anthropic.ContentBlockParamUnion {
	if m.Role == agent.RoleTool {
		return []anthropic.ContentBlockParamUnion{
			anthropic.NewToolResultBlock(m.CallID, resultText(m), m.Outcome != agent.OutcomeDone),
		}
	}
	var list []anthropic.ContentBlockParamUnion
	for _, a := range m.Attachments {
		list = append(list, attachmentBlock(&a))
	}
	if strings.TrimSpace(m.Text) != "" { // the API rejects blank blocks
		list = append(list, anthropic.NewTextBlock(m.Text))
	}
	for _, call := range m.Calls {
		list = append(list, anthropic.NewToolUseBlock(call.ID, call.Arguments, call.Name))
	}
	return list
}

func attachmentBlock(a *protocol.Attachment) anthropic.ContentBlockParamUnion {
	text, isText := a.Text()
	switch {
	case isText:
		return anthropic.NewDocumentBlock(anthropic.PlainTextSourceParam{Data: text})
	case a.Type == protocol.AttachmentDocument:
		return anthropic.NewDocumentBlock(anthropic.Base64PDFSourceParam{Data: a.Data})
	default:
		return anthropic.NewImageBlockBase64(cmp.Or(a.MediaType, "image/png"), a.Data)
	}
}

func inputSchema(raw json.RawMessage) anthropic.ToolInputSchemaParam {
	var schema struct {
		Properties any      `json:"properties"`
		Required   []string `json:"required"`
	}
	more := map[string]any{}
	if json.Unmarshal(raw, &schema) != nil || json.Unmarshal(raw, &more) != nil {
		return anthropic.ToolInputSchemaParam{}
	}
	for _, name := range []string{"properties", "required", "type"} {
		delete(more, name)
	}
	return anthropic.ToolInputSchemaParam{Properties: schema.Properties, Required: schema.Required, ExtraFields: more}
}
