package mockllm

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
)

// object is JSON whose structure depends on the dialect.
type object = map[string]any

// The dialects.
const (
	Anthropic = "anthropic"
	Chat      = "chat"
	Responses = "responses"
	Gemini    = "gemini"
)

// Request is one request for a completion.
type Request struct {
	Dialect string
	Model   string
	Stream  bool
	Key     string   // its credential
	Prompt  string   // the last real user message
	Results []string // tool results after that message, newest first
	Body    []byte

	afterResults bool
	tools        []tool
}

// tool is a tool of the request.
type tool struct {
	name      string
	kind      string // function, custom …
	schema    object
	namespace string // Responses only
}

// Tools returns the names of the request's tools.
func (r *Request) Tools() []string {
	names := make([]string, 0, len(r.tools))
	for _, t := range r.tools {
		names = append(names, t.name)
	}
	return names
}

func text(v any) string      { s, _ := v.(string); return s }
func array(v any) []any      { l, _ := v.([]any); return l }
func member(v any) object    { o, _ := v.(object); return o }
func encode(v any) string    { b, _ := json.Marshal(v); return string(b) }
func join(s []string) string { return strings.Join(s, "") }

func parse(dialect string, raw []byte) (*Request, error) {
	var body object
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, err
	}
	r := &Request{Dialect: dialect, Model: text(body["model"]), Body: raw}
	r.Stream, _ = body["stream"].(bool)
	r.addTools(array(body["tools"]), "")
	if dialect == Chat {
		if err := checkPaired(array(body["messages"])); err != nil {
			return nil, err
		}
	}
	r.readConversation(body)
	return r, nil
}

// checkPaired checks what OpenAI checks: each tool message follows its call, and each call has a
// tool message.
func checkPaired(messages []any) error {
	open := map[string]bool{}
	for _, m := range messages {
		if text(member(m)["role"]) == "tool" {
			id := text(member(m)["tool_call_id"])
			if !open[id] {
				return errors.New("messages with role 'tool' must be a response to a preceding message with 'tool_calls'")
			}
			delete(open, id)
			continue
		}
		if len(open) > 0 {
			break
		}
		for _, call := range array(member(m)["tool_calls"]) {
			open[text(member(call)["id"])] = true
		}
	}
	if len(open) > 0 {
		return errors.New("an assistant message with 'tool_calls' must be followed by tool messages responding to each " +
			"'tool_call_id'")
	}
	return nil
}

func (r *Request) addTools(tools []any, namespace string) {
	for _, t := range tools {
		o := member(t)
		switch {
		case o["function"] != nil: // chat
			f := member(o["function"])
			r.tools = append(r.tools, tool{text(f["name"]), "function", member(f["parameters"]), namespace})
		case o["functionDeclarations"] != nil: // Gemini
			for _, declaration := range array(o["functionDeclarations"]) {
				f := member(declaration)
				r.tools = append(r.tools, tool{
					text(f["name"]), "function", either(f, "parametersJsonSchema", "parameters"), namespace,
				})
			}
		case text(o["type"]) == "namespace": // Responses
			r.addTools(array(o["tools"]), text(o["name"]))
		default: // Anthropic, Responses
			kind := text(o["type"])
			if kind == "" {
				kind = "function"
			}
			name := text(o["name"])
			if name == "" {
				name = kind
			}
			r.tools = append(r.tools, tool{name, kind, either(o, "input_schema", "parameters"), namespace})
		}
	}
}

func either(o object, first, second string) object {
	if v := member(o[first]); v != nil {
		return v
	}
	return member(o[second])
}

// readConversation finds the last real user message, searching backwards.
func (r *Request) readConversation(body object) {
	items := array(body["messages"])
	switch r.Dialect {
	case Responses:
		r.Prompt = text(body["input"])
		items = array(body["input"])
	case Gemini:
		items = array(body["contents"])
	}
	for i := len(items) - 1; i >= 0; i-- {
		item := member(items[i])
		if isResult(item) {
			r.afterResults = true
			r.Results = append(r.Results, resultText(item))
			continue
		}
		if text(item["role"]) != "user" {
			continue
		}
		prompt, onlyResults := r.user(item)
		if onlyResults {
			r.afterResults = true
			continue
		}
		if prompt != "" && !strings.HasPrefix(prompt, "# AGENTS.md") {
			r.Prompt = prompt
			return
		}
	}
}

func isResult(item object) bool {
	switch text(item["type"]) {
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		return true
	}
	return text(item["role"]) == "tool"
}

func resultText(item object) string {
	content := item["content"]
	if content == nil {
		content = item["output"]
	}
	if s := flatten(content); s != "" {
		return s
	}
	return encode(content)
}

// user reads a user message. Anthropic and Gemini put tool results and new text into one
// message, as some agents do after an interrupt: text after the last result is a new prompt. In
// Anthropic's dialect a failed prompt and the next one are one message too; the last text
// counts.
func (r *Request) user(item object) (prompt string, onlyResults bool) {
	content := item["content"]
	if r.Dialect == Gemini {
		content = item["parts"]
	}
	prompt = clean(text(content))
	for _, part := range array(content) {
		p := member(part)
		if text(p["type"]) == "tool_result" {
			prompt, onlyResults = "", true
			r.Results = append(r.Results, flatten(p["content"]))
			continue
		}
		if response := member(p["functionResponse"]); response != nil {
			prompt, onlyResults = "", true
			r.Results = append(r.Results, encode(response["response"]))
			continue
		}
		fresh := clean(text(p["text"]))
		if fresh == "" || strings.HasPrefix(fresh, "[Request interrupted") {
			continue
		}
		onlyResults = false
		if r.Dialect == Anthropic {
			prompt = fresh
			continue
		}
		prompt = strings.TrimSpace(prompt + "\n" + fresh)
	}
	return prompt, onlyResults
}

// flatten returns "content" of any dialect as one text.
func flatten(content any) string {
	if s, ok := content.(string); ok {
		return s
	}
	var all []string
	for _, part := range array(content) {
		switch p := member(part); {
		case text(part) != "":
			all = append(all, text(part))
		case text(p["text"]) != "":
			all = append(all, text(p["text"]))
		case p["content"] != nil:
			all = append(all, flatten(p["content"]))
		}
	}
	return strings.Join(all, "\n")
}

const wrappers = `system-reminder|environment_context|user_instructions|permissions[^>]*|session_context|INSTRUCTIONS|` +
	`skills_instructions|apps_instructions|plugins_instructions|local-command-caveat`

// injected matches text that agents add around the real prompt.
var injected = regexp.MustCompile(`(?s)<(` + wrappers + `)>.*?</(` + wrappers + `)>`)

func clean(s string) string { return strings.TrimSpace(injected.ReplaceAllString(s, "")) }

var workingDirectory = regexp.MustCompile(`(?:[Ww]orking directory:?\s*|<cwd>|workspace director(?:y|ies):\s*(?:\\n)?\s*-?\s*)(/[^\s<"\\]+)`)

// directory returns the working directory that the agent gave its model, or "".
func (r *Request) directory() string {
	if found := workingDirectory.FindSubmatch(r.Body); found != nil {
		return string(found[1])
	}
	return ""
}
