package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

var eventStream = http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}

// answered returns a model that gets one answer, and then as often as it tries again.
func answered(t *testing.T, provider string, status int, header http.Header, body func() io.Reader) *Model {
	t.Helper()
	m, err := Open(provider+"/mock-1", Options{
		BaseURL: "http://127.0.0.1:8000/v1", Key: key,
		Client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: transport(func(r *http.Request) *http.Response {
				a := answer(status, header, "")
				a.Body, a.Request = io.NopCloser(body()), r
				return a
			}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Completer.(*completer).pause = func(context.Context, time.Duration) error { return errStop }
	return m
}

// errStop replaces the pause before a second try.
var errStop = errors.New("tries again")

// The streams are those of the vendors' documentation, with other texts.
func TestStreams(t *testing.T) {
	t.Parallel()
	for name, c := range streams() {
		provider, _, _ := strings.Cut(name, ":")
		for _, way := range []struct {
			name string
			body func() io.Reader
		}{
			{"at once", func() io.Reader { return strings.NewReader(c.stream) }},
			{"byte by byte", func() io.Reader { return iotest.OneByteReader(strings.NewReader(c.stream)) }},
			{"CRLF", func() io.Reader { return strings.NewReader(strings.ReplaceAll(c.stream, "\n", "\r\n")) }},
			{"with pings", func() io.Reader {
				return strings.NewReader("\n: ping\n\n" + strings.ReplaceAll(c.stream, "\n\n", "\n\n: OPENROUTER PROCESSING\n\n"+
					"retry: 10\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\ndata:\n\n"))
			}},
			{"without the last empty line", func() io.Reader { return strings.NewReader(strings.TrimSuffix(c.stream, "\n")) }},
		} {
			t.Run(name+" "+way.name, func(t *testing.T) {
				got, err := complete(t.Context(), answered(t, provider, http.StatusOK, eventStream, way.body), prompt("hi"))
				text := ""
				if err != nil {
					text = err.Error()
				}
				if got != c.want || text != c.err {
					t.Errorf("got  %s, %s\nwant %s, %s", got, text, c.want, c.err)
				}
			})
		}
	}
}

const brokeOff = "!The model's answer broke off; trying again in 1s"

// anthropicStart begins a message; anthropicEnd ends it.
const (
	anthropicStart = `event: message_start
data: {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude", "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 25, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000, "output_tokens": 1, "service_tier": "standard"}}}

`
	anthropicText = `event: content_block_start
data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "!\n\u00fc"}}

event: content_block_stop
data: {"type": "content_block_stop", "index": 0}

`
	anthropicEnd = `event: message_delta
data: {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence":null}, "usage": {"output_tokens": 15}}

event: message_stop
data: {"type": "message_stop"}

`
)

type streamed struct{ stream, want, err string }

// streams returns answers by the provider and a name.
func streams() map[string]streamed {
	const used = "{Input:1125 Output:15 Total:1140 Cached:1000}"
	all := map[string]streamed{
		"anthropic: text with cached tokens": {anthropicStart + anthropicText + anthropicEnd, "Hello|!\nü|" + used, ""},
		"anthropic: thinking is left out": {anthropicStart + `event: content_block_start
data: {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "First the GCD"}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk"}}

event: content_block_stop
data: {"type": "content_block_stop", "index": 0}

` + strings.ReplaceAll(anthropicText, `"index": 0`, `"index": 1`) + anthropicEnd, "Hello|!\nü|" + used, ""},
		"anthropic: calls whose pieces interleave": {anthropicStart + `event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"read_file","input":{}}}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_2","name":"run_command","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"ls\"}"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":".txt\"}"}}

` + strings.ReplaceAll(anthropicEnd, "end_turn", "tool_use"), used + `|read_file{"path": "a.txt"}|run_command{"command":"ls"}`, ""},
		"anthropic: a call without arguments": {anthropicStart + `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"read_file","input":{}}}

` + anthropicEnd, used + `|read_file{}`, ""},
		"anthropic: cut in the text": {
			anthropicStart + anthropicText + strings.ReplaceAll(anthropicEnd, "end_turn", "max_tokens"),
			"Hello|!\nü|" + used + "|!The model's answer reached its limit of tokens and was cut", "",
		},
		"anthropic: cut in a call": {
			anthropicStart + `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"read_file","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}

` + strings.ReplaceAll(anthropicEnd, "end_turn", "max_tokens"),
			used + "|!The model's answer reached its limit of tokens and was cut",
			"The model's answer reached its limit within a tool call",
		},
		"anthropic: an error before the text": {
			anthropicStart + `event: error
data: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

`, "!The model's provider failed within its answer: Overloaded; trying again in 1s", "tries again",
		},
		"anthropic: an error after the text": {
			anthropicStart + anthropicText + `event: error
data: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

` + anthropicEnd, "Hello|!\nü", "The model's provider failed within its answer: Overloaded",
		},
		"anthropic: an error that is no object": {
			anthropicStart + "event: error\ndata: upstream died\n\n",
			"", "The model's provider failed within its answer: no reason given",
		},
		"anthropic: the stream breaks off": {anthropicStart + anthropicText, "Hello|!\nü", "The model's answer broke off"},
		"anthropic: it has no event":       {"", brokeOff, "tries again"},
		"anthropic: an event is no JSON": {
			anthropicStart + "event: message_delta\ndata: {\"type\":\n\n" + anthropicEnd, brokeOff, "tries again",
		},
		"anthropic: unknown events and members": {anthropicStart + `event: message_pause
data: {"type": "message_pause", "index": "one", "delta": "x", "message": [], "usage": 7}

event: content_block_start
data: {"type": "content_block_start", "index": 9, "content_block": {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search"}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {"text": "no"}, "text": {}}}

id: 7
` + anthropicText + anthropicEnd, "Hello|!\nü|" + used, ""},
	}
	for name, s := range chatStreams() {
		all[name] = s
	}
	return all
}

// chunk is a chunk of chat completions with these members.
func chunk(members string) string {
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1694268190,"model":"gpt","system_fingerprint":"fp_1",` +
		members + "}\n\n"
}

// choice is a chunk with a delta and a reason to finish.
func choice(delta, reason string) string {
	return chunk(`"choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + reason + `}],"usage":null`)
}

func chatStreams() map[string]streamed {
	const (
		done  = "data: [DONE]\n\n"
		used  = "{Input:1117 Output:46 Total:1163 Cached:1024}"
		usage = `"choices":[],"usage":{"prompt_tokens":1117,"completion_tokens":46,"total_tokens":1163,"prompt_tokens_details":` +
			`{"cached_tokens":1024,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":20}}`
	)
	begin := choice(`{"role":"assistant","content":"","refusal":null}`, "null")
	text := choice(`{"content":"Hello"}`, "null") + choice(`{"content":"!\n\u00fc"}`, "null")
	end := choice(`{}`, `"stop"`) + chunk(usage) + done
	return map[string]streamed{
		"openai: text with cached tokens": {begin + text + end, "Hello|!\nü|" + used, ""},
		"openai: reasoning is left out": {
			begin + choice(`{"reasoning_content":"First","reasoning":"First","content":null}`, "null") + text + end,
			"Hello|!\nü|" + used, "",
		},
		"openai: a refusal": {
			begin + choice(`{"refusal":"I'm sorry, "}`, "null") + choice(`{"refusal":"no."}`, "null") + end,
			"I'm sorry, |no.|" + used, "",
		},
		"openai: calls whose pieces interleave": {
			begin + choice(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read_file","arguments":""}},`+
				`{"index":1,"id":"call_2","type":"function","function":{"name":"run_command","arguments":"{\"command\":"}}]}`, "null") +
				choice(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\": \"a"}}]}`, "null") +
				choice(`{"tool_calls":[{"index":1,"function":{"name":null,"arguments":"\"ls\"}"}}]}`, "null") +
				choice(`{"tool_calls":[{"index":0,"function":{"arguments":".txt\"}"}}]}`, "null") +
				choice(`{"tool_calls":null}`, `"tool_calls"`) + chunk(usage) + done,
			used + `|read_file{"path": "a.txt"}|run_command{"command":"ls"}`, "",
		},
		"openai: cut in the text": {
			begin + text + choice(`{}`, `"length"`) + chunk(usage) + done,
			"Hello|!\nü|" + used + "|!The model's answer reached its limit of tokens and was cut", "",
		},
		"openai: cut in a call": {
			begin + choice(`{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"read_file","arguments":"{\"path\""}}]}`, "null") +
				choice(`{}`, `"length"`) + done,
			"!The model's answer reached its limit of tokens and was cut",
			"The model's answer reached its limit within a tool call",
		},
		"openai: no usage": {begin + text + choice(`{}`, `"stop"`) + done, "Hello|!\nü", ""},
		"openai: no [DONE]": {
			begin + text + choice(`{}`, `"stop"`) + chunk(usage), "Hello|!\nü|" + used, "",
		},
		"openai: events after [DONE]": {begin + text + end + choice(`{"content":"more"}`, "null"), "Hello|!\nü|" + used, ""},
		"openai: an error before the text": {
			begin + `data: {"error":{"type":"api_error","code":null,"param":null,"message":"The server had an error"}}` + "\n\n",
			"!The model's provider failed within its answer: The server had an error; trying again in 1s", "tries again",
		},
		"openai: an error after the text": {
			begin + text + chunk(`"error":{"code":502,"message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},`+
				`"finish_reason":"error"}]`) + end,
			"Hello|!\nü", "The model's provider failed within its answer: Provider disconnected",
		},
		"openai: an error that is a text": {`data: {"error": "out of memory"}` + "\n\n", "", "The model's provider failed within its answer: " +
			"out of memory"},
		"openai: no error":              {chunk(`"error":null,"choices":[]`) + text + end, "Hello|!\nü|" + used, ""},
		"openai: the stream breaks off": {begin + text, "Hello|!\nü", "The model's answer broke off"},
		"openai: [DONE] without an end": {begin + done, brokeOff, "tries again"},
		"openai: it has no event":       {"", brokeOff, "tries again"},
		"openai: a chunk is no JSON":    {begin + "data: {\"choices\":\n\n" + end, brokeOff, "tries again"},
		"openai: unknown chunks and members": {
			begin + "event: x\n" + chunk(`"object":"other","choices":[{"delta":{"audio":{"id":"x"},"content":null}}]`) + text + end,
			"Hello|!\nü|" + used, "",
		},
		"openai: content that is no text": {
			begin + choice(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`, "null") + text + end,
			"Hello|!\nü|" + used, "",
		},
	}
}
