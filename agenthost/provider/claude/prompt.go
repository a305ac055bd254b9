package claude

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"bellhop/agenthost"
	"bellhop/protocol"
)

// encode makes the user message. Each has an id of its own: the program answers
// a message whose id it has seen, in an earlier life too, with nothing.
func encode(prompt agenthost.Prompt, before string) (id string, line json.RawMessage, err error) {
	var content []object
	for _, a := range prompt.Attachments {
		content = append(content, object{
			"type": "image", "source": object{"type": "base64", "media_type": a.MediaType, "data": a.Data},
		})
	}
	if text := before + prompt.Text; text != "" {
		content = append(content, object{"type": "text", "text": text})
	}
	id = uuid.NewString()
	line, err = json.Marshal(object{
		"type": "user", "uuid": id, "parent_tool_use_id": nil,
		"message": object{"role": "user", "content": content},
	})
	if err != nil {
		return "", nil, fmt.Errorf("encode the prompt: %w", err)
	}
	if len(line) > protocol.MaxLine {
		return "", nil, protocol.Errorf(protocol.CodeTooLarge,
			"The prompt with its attachments is larger than the %d MiB the agent reads", protocol.MaxLine>>20)
	}
	return id, line, nil
}
