package model

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"bellhop/agent"
	"bellhop/protocol"
)

// openAIChat implements OpenAI chat completions, which other servers implement too.
type openAIChat struct {
	service   openai.ChatCompletionService
	model     string
	maxTokens int64
}

// noKey is sent to servers that need no key: some reject a request without one.
const noKey = "none"

func newOpenAI(o *Options, model string) dialect {
	return &openAIChat{
		service: openai.NewChatCompletionService( // not NewClient: that reads the environment
			option.WithBaseURL(o.BaseURL), option.WithHTTPClient(o.Client), option.WithMaxRetries(0),
			option.WithAPIKey(cmp.Or(o.Key, noKey)),
		),
		model: model, maxTokens: int64(o.MaxTokens),
	}
}

func (d *openAIChat) try(
	ctx context.Context, conversation []agent.Message, tools []agent.ToolSpec, emit emitFunc,
) error {
	stream := d.service.NewStreaming(ctx, d.params(conversation, tools))
	defer func() { _ = stream.Close() }()
	var used agent.Usage
	var open calls
	reason := ""
	for stream.Next() {
		chunk := stream.Current()
		if chunk.Usage.TotalTokens > 0 {
			used.Input, used.Output = chunk.Usage.PromptTokens, chunk.Usage.CompletionTokens
			used.Cached = chunk.Usage.PromptTokensDetails.CachedTokens
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		choice := chunk.Choices[0]
		reason = cmp.Or(choice.FinishReason, reason)
		if text := choice.Delta.Content + choice.Delta.Refusal; text != "" && !emit(agent.Delta{Text: text}) {
			return nil
		}
		for _, part := range choice.Delta.ToolCalls {
			p := open.at(part.Index)
			p.name = cmp.Or(p.name, part.Function.Name)
			p.arguments = append(p.arguments, part.Function.Arguments...)
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	if reason == "" {
		return errBroken
	}
	return finish(used, reason == "length", &open, emit)
}

func (d *openAIChat) params(conversation []agent.Message, tools []agent.ToolSpec) openai.ChatCompletionNewParams {
	params := openai.ChatCompletionNewParams{
		Model:         d.model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	if d.maxTokens > 0 {
		params.MaxCompletionTokens = openai.Int(d.maxTokens)
	}
	for _, m := range conversation {
		params.Messages = append(params.Messages, chatMessage(m))
	}
	for _, t := range tools {
		schema := map[string]any{}
		_ = json.Unmarshal(t.Schema, &schema) // without a schema the tool takes no arguments
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.Name, Description: openai.String(t.Description), Parameters: schema,
		}))
	}
	return params
}

func chatMessage(m agent.Message) openai.ChatCompletionMessageParamUnion {
	switch m.Role {
	case agent.RoleSystem:
		return openai.SystemMessage(m.Text)
	case agent.RoleTool:
		return openai.ToolMessage(resultText(m), m.CallID)
	case agent.RoleAssistant:
		return chatReply(m)
	default:
		return chatPrompt(m)
	}
}

func chatReply(m agent.Message) openai.ChatCompletionMessageParamUnion {
	reply := &openai.ChatCompletionAssistantMessageParam{}
	if m.Text != "" {
		reply.Content.OfString = param.NewOpt(m.Text)
	}
	for _, call := range m.Calls {
		reply.ToolCalls = append(reply.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: call.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: call.Name, Arguments: string(call.Arguments),
				},
			},
		})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: reply}
}

func chatPrompt(m agent.Message) openai.ChatCompletionMessageParamUnion {
	if len(m.Attachments) == 0 {
		return openai.UserMessage(m.Text)
	}
	var parts []openai.ChatCompletionContentPartUnionParam
	for i, a := range m.Attachments {
		url := "data:" + cmp.Or(a.MediaType, "image/png") + ";base64," + a.Data
		text, isText := a.Text()
		switch {
		case isText:
			parts = append(parts, openai.TextContentPart(fmt.Sprintf("Attached document %d:\n\n%s", i+1, text)))
		case a.Type == protocol.AttachmentDocument:
			parts = append(parts, openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{
				FileData: openai.String(url), Filename: openai.String(fmt.Sprintf("document-%d.pdf", i+1)),
			}))
		default:
			parts = append(parts, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: url}))
		}
	}
	if m.Text != "" {
		parts = append(parts, openai.TextContentPart(m.Text))
	}
	return openai.UserMessage(parts)
}
