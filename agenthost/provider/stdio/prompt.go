package stdio

import (
	"context"
	"encoding/json"
	"fmt"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// Join puts the restored context before a prompt.
func Join(restored, prompt string) string {
	if restored == "" {
		return prompt
	}
	return restored + "\n\n" + prompt
}

// SendPrompt sends an encoded prompt. The error has CodeTooLarge if the line is
// longer than programs must accept.
func (c *Child) SendPrompt(ctx context.Context, line json.RawMessage) error {
	if len(line) > protocol.MaxLine {
		return errTooLarge()
	}
	return c.Send(ctx, line)
}

// isTooLarge reports whether every encoding of the prompt is too long for
// SendPrompt. It avoids the start of a program for such a prompt.
func isTooLarge(prompt agenthost.Prompt) bool {
	size := len(prompt.Text)
	for _, a := range prompt.Attachments {
		size += len(a.Data)
	}
	return size >= protocol.MaxLine
}

func errTooLarge() error {
	return protocol.Errorf(protocol.CodeTooLarge,
		"The prompt with its attachments is larger than the %d MiB the agent reads", protocol.MaxLine>>20)
}

// Document returns a text document as a part of a prompt, for agents that take text only.
func Document(a *protocol.Attachment, text string) string {
	if a.Name != "" {
		return "Attached document " + a.Name + ":\n\n" + text
	}
	return "Attached document:\n\n" + text
}

// NotTaken is the notice about an attachment that an agent cannot take.
func NotTaken(a *protocol.Attachment) string {
	what := fmt.Sprintf("attachments of the type %s (%.100s): it was left out", a.Type, a.MediaType)
	if a.Name != "" {
		what += ": " + a.Name
	}
	return "The agent does not take " + what
}
