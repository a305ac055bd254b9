package claude

import (
	"encoding/json"
	"errors"
	"fmt"

	"bellhop/agenthost/provider/stdio"
)

// message is one line of the program. Depending on the line's type, one of the
// pointers is set, or none if the line has no meaning here.
type message struct {
	envelope
	chat    *chat    // assistant, user
	stream  *stream  // stream_event
	system  *system  // system
	result  *result  // result
	request *request // control_request, control_cancel_request
	reply   *reply   // control_response

	followUp *followUp // set instead of the others when the wait for a follow-up turn has ended; no line was read
}

type envelope struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Parent    string `json:"parent_tool_use_id"` // the call that started the sub-agent
}

// chat is a message of the conversation.
type chat struct {
	Message struct {
		Content json.RawMessage `json:"content"` // text, or blocks
		Model   string          `json:"model"`
		Usage   tokens          `json:"usage"` // of the request that the message answers
	} `json:"message"`
	UUID       string `json:"uuid"`
	IsReplay   bool   `json:"isReplay"`
	IsAPIError bool   `json:"is_api_error_message"`
	Task       string `json:"task_description"`
	Results    []struct {
		ID       string `json:"id"`
		Decision struct {
			Decision string `json:"decision"`
		} `json:"permission_decision"`
	} `json:"tool_result_meta"`
}

// block is a block of a message.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// blocks returns the message's blocks. A message that is only a text has one.
func (m *chat) blocks() []block {
	var text string
	if json.Unmarshal(m.Message.Content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var found []block
	_ = json.Unmarshal(m.Message.Content, &found) // parse has checked it
	return found
}

// stream is an event of the model's own stream.
type stream struct {
	Event struct {
		Type  string `json:"type"`
		Delta struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			Thinking string `json:"thinking"`
		} `json:"delta"`
		Usage tokens `json:"usage"` // message_delta
	} `json:"event"`
}

type system struct {
	State      string            `json:"state"`       // session_state_changed
	Tasks      []json.RawMessage `json:"tasks"`       // background_tasks_changed
	Attempt    int               `json:"attempt"`     // api_retry
	MaxRetries int               `json:"max_retries"` // api_retry
	Error      json.RawMessage   `json:"error"`       // api_retry: a kind of error
	Status     json.RawMessage   `json:"error_status"`
	Tools      []string          `json:"tools"`          // init: names, MCP tools included
	Commands   []string          `json:"slash_commands"` // init: names, those of MCP servers included
}

// tokens are the counts of the model's API for one request.
type tokens struct {
	Input         int64 `json:"input_tokens"`
	Output        int64 `json:"output_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
}

// modelTokens are the program's own counts for one model, sub-agents included.
type modelTokens struct {
	Input         int64   `json:"inputTokens"`
	Output        int64   `json:"outputTokens"`
	CacheRead     int64   `json:"cacheReadInputTokens"`
	CacheCreation int64   `json:"cacheCreationInputTokens"`
	Thinking      int64   `json:"thinkingTokens"`
	Cost          float64 `json:"costUSD"`
	Window        int64   `json:"contextWindow"`
}

type result struct {
	IsError        bool                   `json:"is_error"`
	Result         string                 `json:"result"`
	Errors         []string               `json:"errors"`
	TerminalReason string                 `json:"terminal_reason"`
	StopReason     string                 `json:"stop_reason"`
	APIErrorStatus int                    `json:"api_error_status"`
	Usage          tokens                 `json:"usage"`
	SinceLast      map[string]modelTokens `json:"model_usage_since_last_result"`
}

type request struct {
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype     string          `json:"subtype"`
		ToolName    string          `json:"tool_name"`
		DisplayName string          `json:"display_name"`
		Description string          `json:"description"`
		Input       json.RawMessage `json:"input"`
		ToolUseID   string          `json:"tool_use_id"`
	} `json:"request"`
}

type reply struct {
	RequestID string `json:"request_id"`
	Subtype   string `json:"subtype"`
	Response  struct {
		Commands []command `json:"commands"` // of the handshake
	} `json:"response"`
}

// command is a slash command of the program.
type command struct {
	Name         string `json:"name"`
	Description  string `json:"description"`
	ArgumentHint string `json:"argumentHint"`
}

// parse decodes one line and keeps no part of raw. The error describes the line in
// a notice to the user.
func parse(raw []byte) (m message, err error) {
	if json.Unmarshal(raw, &m.envelope) != nil || m.Type == "" {
		return m, errors.New("a line that is no message: " + stdio.Excerpt(raw))
	}
	switch m.Type {
	case "assistant", "user":
		if err = json.Unmarshal(raw, &m.chat); err == nil {
			err = m.chat.check()
		}
	case "stream_event":
		err = json.Unmarshal(raw, &m.stream)
	case "system":
		err = json.Unmarshal(raw, &m.system)
	case "result":
		err = json.Unmarshal(raw, &m.result)
	case "control_request", "control_cancel_request":
		err = json.Unmarshal(raw, &m.request)
	case "control_response":
		var outer struct {
			Response reply `json:"response"`
		}
		err = json.Unmarshal(raw, &outer)
		m.reply = &outer.Response
	}
	if err != nil {
		return m, fmt.Errorf("a message of type %.40q that cannot be read", m.Type)
	}
	return m, nil
}

func (m *chat) check() error {
	var found []block
	if len(m.Message.Content) == 0 || m.Message.Content[0] == '"' {
		return nil
	}
	return json.Unmarshal(m.Message.Content, &found)
}

// handshake is the request id of the first control request.
const handshake = "initialize"

func controlRequest(id, subtype string) stdio.Object {
	return stdio.Object{"type": "control_request", "request_id": id, "request": stdio.Object{"subtype": subtype}}
}

// beforeTools subscribes the host to every tool call before the program decides
// about it. The program would not ask about calls that it considers harmless, such as
// reading or "echo".
var beforeTools = stdio.Object{"PreToolUse": []stdio.Object{{"hookCallbackIds": []string{"before-tool"}}}}

// askFirst is the answer about every call: the program must ask for permission.
var askFirst = stdio.Object{"hookSpecificOutput": stdio.Object{
	"hookEventName": "PreToolUse", "permissionDecision": "ask",
	"permissionDecisionReason": "The host decides about every tool",
}}

func initialization() stdio.Object {
	request := controlRequest(handshake, "initialize")
	request["request"] = stdio.Object{"subtype": "initialize", "hooks": beforeTools}
	return request
}

func controlResponse(id string, response any) stdio.Object {
	return stdio.Object{
		"type": "control_response", "response": stdio.Object{"subtype": "success", "request_id": id, "response": response},
	}
}

func controlError(id, message string) stdio.Object {
	return stdio.Object{
		"type": "control_response", "response": stdio.Object{"subtype": "error", "request_id": id, "error": message},
	}
}
