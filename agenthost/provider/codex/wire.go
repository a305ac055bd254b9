package codex

import (
	"encoding/json"
	"fmt"
)

// message is any message of the app server: a request (id and method), a
// notification (method) or a response (id).
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *refusal        `json:"error,omitempty"`
}

func (m *message) isRequest() bool { return len(m.ID) > 0 && m.Method != "" }

// refusal is the error of a response.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (r *refusal) Error() string { return fmt.Sprintf("%s (%d)", r.Message, r.Code) }

// noSuchMethod is the JSON-RPC code of an unknown method.
const noSuchMethod = -32601

// parameters has the members of all notifications of a turn. The method decides
// which are set.
type parameters struct {
	ThreadID string          `json:"threadId"`
	TurnID   string          `json:"turnId"`
	ItemID   string          `json:"itemId"`
	Turn     *turnInfo       `json:"turn"`
	Item     json.RawMessage `json:"item"`
	Delta    string          `json:"delta"`
	Index    int             `json:"summaryIndex"`
	Message  string          `json:"message"`
	Summary  string          `json:"summary"`

	Error     *failure `json:"error"`
	WillRetry bool     `json:"willRetry"`

	RequestID json.RawMessage `json:"requestId"`

	TokenUsage *struct {
		Total tokens `json:"total"`
		Last  tokens `json:"last"`

		Window int64 `json:"modelContextWindow"`
	} `json:"tokenUsage"`
}

type turnInfo struct {
	ID     string   `json:"id"`
	Status string   `json:"status"`
	Error  *failure `json:"error"`
}

type tokens struct {
	Input     int64 `json:"inputTokens"`
	Cached    int64 `json:"cachedInputTokens"`
	Output    int64 `json:"outputTokens"`
	Reasoning int64 `json:"reasoningOutputTokens"`
	Total     int64 `json:"totalTokens"`
}

func (t tokens) minus(o tokens) tokens {
	return tokens{
		t.Input - o.Input, t.Cached - o.Cached, t.Output - o.Output, t.Reasoning - o.Reasoning, t.Total - o.Total,
	}
}

// item is a ThreadItem. Its type decides which members are set.
type item struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Status string `json:"status"`
	Text   string `json:"text"`

	Summary []string `json:"summary"`
	Content any      `json:"content"`

	Command          string          `json:"command"`
	Cwd              string          `json:"cwd"`
	AggregatedOutput *string         `json:"aggregatedOutput"`
	ExitCode         *int            `json:"exitCode"`
	Changes          json.RawMessage `json:"changes"`

	Server    string          `json:"server"`
	Namespace string          `json:"namespace"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error"`
	ContentItems json.RawMessage `json:"contentItems"`
	Success      *bool           `json:"success"`

	Query string `json:"query"`
	Path  string `json:"path"`

	Prompt string `json:"prompt"`
}
